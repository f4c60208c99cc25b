"""The bytes of a WebSocket's client: no connection, no clock (RFC 6455).

Why not a package: `_async/` and the `_sync/` that is made of it need one interface for both, and the library promises Python 3.9 and no
compiled code. Seconds of CPU a GiB, measured in one run with Python 3.11 (this; websockets 17.1, whose masks are compiled):

                  asyncio        threads
    receiving     0.45; 0.55     0.40; 0.85
    sending       1.25; 0.45     1.15; 0.95

The peak of memory is 31 and 26 MiB. wsproto 1.3 has the right interface, and is slower: a message of 256 KiB is made in 0.73 ms (this: 0.24),
and 4 MiB are read in 0.75 ms (this: 0.25).
"""

from __future__ import annotations

import base64
import hashlib
import os
import struct
from dataclasses import dataclass
from typing import Iterator, List, Optional, Tuple, Union

from .errors import UnreadableAnswer

_ACCEPT_SUFFIX = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_TEXT_MAX_BYTES = 64 * 1024
"""Texts only steer."""

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10


@dataclass(frozen=True)
class Ping:
    data: bytes


@dataclass(frozen=True)
class Close:
    code: Optional[int]
    """None: the server said none."""
    reason: str


Message = Union[bytes, str, Ping, Close]
"""Bytes come as far as they are there, unless the reader tells messages whole."""


def new_key() -> str:
    return base64.b64encode(os.urandom(16)).decode("ascii")


def accepted(key: str) -> str:
    """What a server answers to it."""
    return base64.b64encode(hashlib.sha1(key.encode("ascii") + _ACCEPT_SUFFIX).digest()).decode("ascii")


_XORED = [bytes(byte ^ key for byte in range(256)) for key in range(256)]
"""All bytes XORed with each byte."""


def frame(opcode: int, payload: bytes) -> bytes:
    """One whole message, or a control frame, masked as a client must."""
    length = len(payload)
    if length < 126:
        head = struct.pack("!BB", 0x80 | opcode, 0x80 | length)
    elif length < 2**16:
        head = struct.pack("!BBH", 0x80 | opcode, 0x80 | 126, length)
    else:
        head = struct.pack("!BBQ", 0x80 | opcode, 0x80 | 127, length)
    mask = os.urandom(4)
    body = len(head) + len(mask)
    whole = bytearray(body + length)
    whole[:body] = head + mask
    # A table for each byte of the mask: a third of the time that one XOR of two long integers takes.
    for at, key in enumerate(mask):
        whole[body + at :: 4] = payload[at::4].translate(_XORED[key])
    return whole


def close_frame(code: int) -> bytes:
    return frame(CLOSE, struct.pack("!H", code))


class FrameReader:
    """What a server sends, cut anywhere. Fails with UnreadableAnswer; nothing that comes after that is of any use.

    message_max_bytes: binary messages are told whole, as texts are, and none may be longer. None: in pieces.
    """

    def __init__(self, message_max_bytes: Optional[int] = None) -> None:
        self._message_max_bytes = message_max_bytes
        self._rest = bytearray()
        self._left: Optional[Tuple[int, bool, int]] = None
        """Of the frame whose payload comes: its opcode, whether it is its message's last, and how many bytes."""
        self._message: Optional[int] = None
        """Of the message that is being told: TEXT or BINARY."""
        self._whole: List[bytes] = []
        self._whole_bytes = 0

    def feed(self, data: bytes) -> Iterator[Message]:
        self._rest += data
        while True:
            if self._left is None:
                self._left = self._header()
                if self._left is None:
                    return
            opcode, is_last, left = self._left
            if opcode in (TEXT, BINARY, CONTINUATION):
                with memoryview(self._rest) as rest:
                    taken = bytes(rest[:left])
                if not taken and left > 0:
                    return
                del self._rest[: len(taken)]
                left -= len(taken)
                self._left = None if left == 0 else (opcode, is_last, left)
                yield from self._told(taken, is_last and left == 0)
            elif len(self._rest) < left:
                return
            else:
                payload = bytes(self._rest[:left])
                del self._rest[:left]
                self._left = None
                if opcode == PING:
                    yield Ping(payload)
                elif opcode == CLOSE:
                    yield _closed(payload)

    def _header(self) -> Optional[Tuple[int, bool, int]]:
        """None: it is not whole yet."""
        if len(self._rest) < 2:
            return None
        first, second = self._rest[0], self._rest[1]
        opcode, short = first & 0x0F, second & 0x7F
        size = 2 + {126: 2, 127: 8}.get(short, 0)
        if len(self._rest) < size:
            return None
        length = short if size == 2 else int.from_bytes(self._rest[2:size], "big")
        del self._rest[:size]
        is_control = opcode >= CLOSE
        if first & 0x70 or second & 0x80 or opcode not in (CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG):
            raise UnreadableAnswer("What came is no frame of a WebSocket's server.")
        if is_control and (length > 125 or not first & 0x80):
            raise UnreadableAnswer("A control frame is longer than any, or in pieces.")
        if not is_control:
            if (opcode == CONTINUATION) == (self._message is None):
                raise UnreadableAnswer("A message began before another ended, or went on before it began.")
            self._message = self._message if opcode == CONTINUATION else opcode
        return opcode, bool(first & 0x80), length

    def _told(self, payload: bytes, is_end: bool) -> Iterator[Message]:
        is_text = self._message == TEXT
        if is_end:
            self._message = None
        if not is_text and self._message_max_bytes is None:
            if payload:
                yield payload
            return
        self._whole.append(payload)
        self._whole_bytes += len(payload)
        if self._whole_bytes > (self._message_max_bytes or _TEXT_MAX_BYTES):
            raise UnreadableAnswer("A message is longer than any.")
        if is_end:
            whole = b"".join(self._whole)
            self._whole, self._whole_bytes = [], 0
            yield _decoded(whole) if is_text else whole


def _closed(payload: bytes) -> Close:
    if len(payload) < 2:
        return Close(None, "")
    return Close(int.from_bytes(payload[:2], "big"), _decoded(payload[2:]))


def _decoded(text: bytes) -> str:
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError as thrown:
        raise UnreadableAnswer("A text of the server is not UTF-8.") from thrown
