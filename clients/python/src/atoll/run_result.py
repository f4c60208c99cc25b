"""How a command ended, with its output."""

from __future__ import annotations

import base64
import codecs
from collections import deque
from dataclasses import dataclass
from typing import Any, Callable, Deque, Dict, List, Optional, Union

from .output_chunk import OutputChunk
from .schemas import Operation, OutputStream

KEEP_BYTES = 16 * 1024 * 1024
"""For each stream, by default."""

Tell = Optional[Callable[[str], Any]]


@dataclass(frozen=True)
class RunResult:
    exit_code: Optional[int]
    """None when a signal ended it, or it was cancelled or failed."""
    signal: Optional[str]
    """`SIGTERM` spelling."""
    stdout: str
    stderr: str
    truncated: bool
    """The beginning of a stream is not in `stdout` or `stderr`: it wrote more than is kept."""
    operation: Operation
    """As it ended."""


def stdin_fields(stdin: Union[str, bytes, None]) -> Dict[str, Any]:
    """In the service's form."""
    if isinstance(stdin, bytes):
        return {"stdin": base64.b64encode(stdin).decode("ascii"), "encoding": "base64"}
    return {} if stdin is None else {"stdin": stdin}


class _Written:
    """Of one stream: passed on as text while it comes, and its end kept."""

    def __init__(self, keep_bytes: int, tell: Tell) -> None:
        self.is_cut = False
        self._keep_bytes = keep_bytes
        self._kept: Deque[bytes] = deque()
        self._kept_bytes = 0
        self._tell = tell
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def add(self, chunk: OutputChunk) -> None:
        self.is_cut = self.is_cut or chunk.truncated
        self._kept.append(chunk.data)
        self._kept_bytes += len(chunk.data)
        while self._kept and self._kept_bytes - len(self._kept[0]) >= self._keep_bytes:
            self._kept_bytes -= len(self._kept.popleft())
            self.is_cut = True
        self._told(self._decoder.decode(chunk.data))

    def end(self) -> None:
        self._told(self._decoder.decode(b"", final=True))

    def _told(self, text: str) -> None:
        if text != "" and self._tell is not None:
            self._tell(text)

    def text(self) -> str:
        return b"".join(self._kept).decode("utf-8", "replace")


class Gathered:
    """A command's output, until it has ended."""

    def __init__(self, keep_bytes: int, on_stdout: Tell, on_stderr: Tell) -> None:
        self._written: Dict[OutputStream, _Written] = {
            "stdout": _Written(keep_bytes, on_stdout),
            "stderr": _Written(keep_bytes, on_stderr),
        }

    def add(self, chunk: OutputChunk) -> None:
        self._written[chunk.stream].add(chunk)

    def result(self, operation: Operation) -> RunResult:
        streams: List[_Written] = list(self._written.values())
        for written in streams:
            written.end()
        return RunResult(
            exit_code=operation.exit_code,
            signal=operation.signal,
            stdout=self._written["stdout"].text(),
            stderr=self._written["stderr"].text(),
            truncated=any(written.is_cut for written in streams),
            operation=operation,
        )
