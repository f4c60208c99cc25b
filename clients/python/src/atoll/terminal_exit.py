"""How the shell of a terminal ended."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Optional

from .errors import UnreadableAnswer


@dataclass(frozen=True)
class TerminalExit:
    exit_code: Optional[int]
    """None when a signal ended the shell."""
    signal: Optional[str]
    """`SIGTERM` spelling."""

    @classmethod
    def from_text(cls, text: str) -> TerminalExit:
        try:
            told = json.loads(text)
            if told["type"] == "exit":
                return cls(told["exitCode"], told["signal"])
        except (ValueError, LookupError, TypeError):
            pass
        raise UnreadableAnswer(f"The terminal said what none says: {text[:200]}")
