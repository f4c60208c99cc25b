"""A WebSocket to a program in a Sandbox, by whole messages."""

from __future__ import annotations

from types import TracebackType
from typing import AsyncGenerator, Mapping, Optional, Sequence, Type, Union

import httpx

from ..errors import AtollError, ConnectionError, ConnectionLost
from .transport import AsyncTransport
from .websocket import AsyncWebSocket

_MESSAGE_MAX_BYTES = 64 * 1024 * 1024


class AsyncPreviewSocket:
    """For one that receives, and any number that send."""

    protocol: str
    """The subprotocol that the program took; empty: none."""

    def __init__(self, connection: AsyncWebSocket) -> None:
        self._connection = connection
        self._is_closed = False
        self.protocol = connection.protocol

    @classmethod
    async def open(
        cls, transport: AsyncTransport, url: httpx.URL, protocols: Sequence[str], headers: Mapping[str, str]
    ) -> AsyncPreviewSocket:
        try:
            connection = await AsyncWebSocket.open(
                url,
                protocol=", ".join(protocols) or None,
                headers=headers,
                tls=transport.tls,
                seconds=transport.attempt_seconds,
                by_way_of=transport.origin,
                message_max_bytes=_MESSAGE_MAX_BYTES,
            )
        except AtollError as refused:
            # The program's answer, or the preview's own page.
            said = str(refused).rpartition("did not come from Atoll: ")[2].strip()
            raise ConnectionError(f"WebSocket {url}: answered with {refused.status}. {said}", "notApplied") from refused
        return cls(connection)

    async def receive(self) -> Optional[Union[str, bytes]]:
        """The next message: a text as str, other bytes as bytes; None: it was closed in order. Fails with ConnectionLost."""
        try:
            return await self._connection.receive()
        except ConnectionLost as lost:
            if self._is_closed or lost.close_code is not None:
                return None
            raise

    async def messages(self) -> AsyncGenerator[Union[str, bytes], None]:
        """Each message until the connection is closed."""
        while True:
            message = await self.receive()
            if message is None:
                break
            yield message

    async def send(self, message: Union[str, bytes]) -> None:
        """Returns when there is room for more. Fails with ConnectionLost."""
        await self._connection.send(message)

    async def close(self) -> None:
        self._is_closed = True
        await self._connection.aclose()

    async def __aenter__(self) -> AsyncPreviewSocket:
        return self

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        thrown: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        await self.close()
