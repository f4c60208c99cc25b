"""A WebSocket of the service."""

from __future__ import annotations

import ssl
from collections import deque
from typing import Deque, Mapping, Optional, Union

import httpx

from .._answers import error_of
from .._frames import BINARY, PONG, TEXT, Close, FrameReader, Ping, close_frame, frame, new_key
from .._handshake import HandshakeReader, handshake
from .._wire import AsyncWire
from ..errors import ConnectionError, ConnectionLost


class AsyncWebSocket:
    """For one that receives, and any number that send."""

    def __init__(self, wire: AsyncWire, first: bytes, protocol: str, message_max_bytes: Optional[int] = None) -> None:
        self.protocol = protocol
        """The subprotocol that the server took; empty: none."""
        self._wire = wire
        self._reader = FrameReader(message_max_bytes)
        self._came: Deque[Union[bytes, str, Ping, Close]] = deque(self._reader.feed(first))

    @classmethod
    async def open(
        cls,
        url: httpx.URL,
        *,
        protocol: Optional[str],
        headers: Mapping[str, str],
        tls: ssl.SSLContext,
        seconds: float,
        by_way_of: Optional[httpx.URL] = None,
        message_max_bytes: Optional[int] = None,
    ) -> AsyncWebSocket:
        """Fails with AtollError, ConnectionError or UnreadableAnswer.

        by_way_of: whose address is connected to; the URL's host is asked for there, in TLS also by its name.
        """
        at = by_way_of or url
        is_secure = at.scheme == "https"
        try:
            wire = await AsyncWire.connect(
                at.host, at.port or (443 if is_secure else 80), tls if is_secure else None, seconds, url.host
            )
        except OSError as thrown:
            raise ConnectionError(f"GET {url.path}: the service was not reached ({thrown}).", "notApplied") from thrown
        try:
            key = new_key()
            await wire.write(handshake(url, key, protocol, headers))
            reader = HandshakeReader(url, key)
            answer = None
            while answer is None:
                data = await wire.read(seconds)
                answer = reader.feed(data)
                if answer is None and not data:
                    raise ConnectionError(f"GET {url.path}: the service cut the connection.", "unknown")
            response, first = answer
            if response.status_code != 101:
                raise error_of(response)
            return cls(wire, first, response.headers.get("Sec-WebSocket-Protocol", ""), message_max_bytes)
        except OSError as thrown:
            await wire.aclose()
            if isinstance(thrown, ConnectionError):
                raise
            raise ConnectionError(f"GET {url.path}: the service cut the connection ({thrown}).", "unknown") from thrown
        except BaseException:
            await wire.aclose()
            raise

    async def receive(self) -> Union[bytes, str]:
        """Bytes as they come, or a whole text. Fails with ConnectionLost at the end."""
        while True:
            while not self._came:
                try:
                    data = await self._wire.read()
                except OSError as thrown:
                    raise ConnectionLost(f"The connection is lost ({thrown}).") from thrown
                if not data:
                    raise ConnectionLost("The connection is lost.")
                self._came.extend(self._reader.feed(data))
            message = self._came.popleft()
            if isinstance(message, Ping):
                await self._send(PONG, message.data)
            elif isinstance(message, Close):
                raise ConnectionLost(message.reason or "The service closed the connection.", message.code)
            else:
                return message

    async def send(self, message: Union[bytes, str]) -> None:
        """Returns when there is room for more. Fails with ConnectionLost."""
        if isinstance(message, str):
            await self._send(TEXT, message.encode())
        else:
            await self._send(BINARY, message)

    async def _send(self, opcode: int, payload: bytes) -> None:
        try:
            await self._wire.write(frame(opcode, payload))
        except (OSError, RuntimeError) as thrown:
            raise ConnectionLost(f"The connection is lost ({thrown}).") from thrown

    async def aclose(self) -> None:
        try:
            await self._wire.write(close_frame(1000))
        except (OSError, RuntimeError):
            pass
        await self._wire.aclose()
