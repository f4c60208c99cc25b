"""Server-sent events (HTML Living Standard 9.2) from the bytes of an answer, for any reader."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from typing import Iterator, List

from .errors import UnreadableAnswer

_EVENT_MAX_LENGTH = 16 * 1024 * 1024
"""One event is no longer."""

# A CR at the very end may be half of a CRLF.
_LINE_END = re.compile(r"\r\n|\n|\r(?=.)", re.DOTALL)


@dataclass(frozen=True)
class ServerSentEvent:
    id: str
    """The last id so far, of this event or an earlier one."""
    event: str
    """Empty: only an id came."""
    data: str


class EventStreamReader:
    """The state of one stream."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._parts: List[str] = []
        self._rest_length = 0
        self._id = ""
        self._told = ""
        self._event = ""
        self._data: List[str] = []
        self._data_length = 0

    def feed(self, data: bytes) -> Iterator[ServerSentEvent]:
        """The events that end with these bytes."""
        text = self._decoder.decode(data)
        self._parts.append(text)
        self._rest_length += len(text)
        _bounded(self._rest_length)
        if "\n" not in text and "\r" not in text and not self._parts[0].endswith("\r"):
            return
        *lines, rest = _LINE_END.split("".join(self._parts))
        self._parts = [rest]
        self._rest_length = len(rest)
        for line in lines:
            if line != "":
                self._take(line)
                continue
            if self._data:
                yield ServerSentEvent(self._id, self._event or "message", "\n".join(self._data))
            elif self._id != self._told:
                yield ServerSentEvent(self._id, "", "")
            self._told = self._id
            self._event = ""
            self._data = []
            self._data_length = 0

    def _take(self, line: str) -> None:
        field, _, text = line.partition(":")
        if text.startswith(" "):
            text = text[1:]
        if field == "id" and "\0" not in text:
            self._id = text
        elif field == "event":
            self._event = text
        elif field == "data":
            self._data_length += len(text)
            _bounded(self._data_length)
            self._data.append(text)


def _bounded(length: int) -> None:
    if length > _EVENT_MAX_LENGTH:
        raise UnreadableAnswer("An event of a stream is longer than any.")
