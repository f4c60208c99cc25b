"""How a WebSocket begins: a request of HTTP/1.1 and its answer, as bytes."""

from __future__ import annotations

from typing import List, Mapping, Optional, Tuple

import httpx

from ._frames import accepted
from .errors import UnreadableAnswer

_HEAD_MAX_BYTES = 64 * 1024
_END = b"\r\n\r\n"


def handshake(url: httpx.URL, key: str, protocol: Optional[str], headers: Mapping[str, str]) -> bytes:
    lines = [
        f"GET {url.raw_path.decode('ascii')} HTTP/1.1",
        f"Host: {url.netloc.decode('ascii')}",
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        f"Sec-WebSocket-Key: {key}",
        *([] if protocol is None else [f"Sec-WebSocket-Protocol: {protocol}"]),
        *(f"{name}: {value}" for name, value in headers.items()),
    ]
    return "\r\n".join(lines).encode("ascii") + _END


class HandshakeReader:
    """What came of the answer so far."""

    def __init__(self, url: httpx.URL, key: str) -> None:
        self._request = httpx.Request("GET", url)
        self._key = key
        self._came = b""

    def feed(self, data: bytes) -> Optional[Tuple[httpx.Response, bytes]]:
        """The whole answer, and what came behind it; None: it is not whole yet. `data` empty: there is no more."""
        self._came += data
        head, end, rest = self._came.partition(_END)
        if not end:
            if len(self._came) > _HEAD_MAX_BYTES:
                raise UnreadableAnswer("What answers is no HTTP server.")
            return None
        status, headers = _read_head(head)
        if status == 101:
            told = httpx.Headers(headers)
            if told.get("Sec-WebSocket-Accept") != accepted(self._key):
                raise UnreadableAnswer("What answers is no WebSocket.")
            return httpx.Response(status, headers=headers, request=self._request), rest
        length = int(httpx.Headers(headers).get("Content-Length") or 0)
        if len(rest) < length:
            return None
        kept = [(name, value) for name, value in headers if name.lower() not in ("content-length", "transfer-encoding")]
        return httpx.Response(status, headers=kept, content=rest[:length], request=self._request), b""


def _read_head(head: bytes) -> Tuple[int, List[Tuple[str, str]]]:
    first, *lines = head.decode("latin-1").split("\r\n")
    words = first.split(" ", 2)
    if len(words) < 2 or not words[0].startswith("HTTP/1.") or not words[1].isdigit():
        raise UnreadableAnswer(f"What answers is no HTTP server: {first[:100]}")
    pairs = [line.partition(":") for line in lines]
    return int(words[1]), [(name.strip(), value.strip()) for name, _, value in pairs]
