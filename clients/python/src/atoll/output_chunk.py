"""An operation's output, in pieces."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import Mapping

from .schemas import OutputStream


@dataclass(frozen=True)
class OutputChunk:
    stream: OutputStream
    offset: int
    """Of its first byte, counted from the beginning of that stream."""
    data: bytes
    truncated: bool
    """Bytes before it are no longer kept by the service: the reader was too slow, or came too late."""
    missing_bytes: int
    """How many bytes are missing: between the end of the stream's chunk before, or the start of the reading, and offset."""

    @property
    def next_offset(self) -> int:
        """Where the next one begins."""
        return self.offset + len(self.data)

    @classmethod
    def from_event(cls, data: str, at: Mapping[OutputStream, int]) -> OutputChunk:
        """at: the offset up to which each stream was read."""
        told = json.loads(data)
        return cls(
            stream=told["stream"],
            offset=told["offset"],
            data=base64.b64decode(told["data"]),
            truncated=told["truncated"],
            missing_bytes=max(0, told["offset"] - at[told["stream"]]),
        )
