"""A TCP connection into a Sandbox."""

from __future__ import annotations

from types import TracebackType
from typing import Optional, Type

from .._mailbox import AsyncMailbox
from .._task import AsyncTask
from ..errors import ConnectionLost, Error
from .websocket import AsyncWebSocket

_MESSAGE_MAX_BYTES = 256 * 1024
_UNREAD_MAX_BYTES = 256 * 1024
"""Above this the program in the Sandbox waits before it sends more."""

_END = "end"
"""Of one direction."""


class AsyncTunnel:
    """For one reader, and one writer."""

    def __init__(self, connection: AsyncWebSocket) -> None:
        self._connection = connection
        self._unread = AsyncMailbox()
        self._error: Optional[Error] = None
        self._is_closed = False
        self._receiving = AsyncTask(self._receive)

    async def read(self) -> bytes:
        """The received bytes; waits for some. Empty once the program in the Sandbox sends no more. Fails with ConnectionLost."""
        piece = await self._unread.take()
        if piece is None and self._error is not None:
            raise self._error
        return piece or b""

    async def write(self, data: bytes) -> None:
        """Returns when there is room for more. Fails with ConnectionLost."""
        for at in range(0, len(data), _MESSAGE_MAX_BYTES):
            await self._connection.send(data[at : at + _MESSAGE_MAX_BYTES])

    async def write_eof(self) -> None:
        """Nothing more will be written; received bytes can still be read."""
        await self._connection.send(_END)

    async def close(self) -> None:
        self._is_closed = True
        await self._unread.end()
        await self._connection.aclose()
        await self._receiving.finished()

    async def __aenter__(self) -> AsyncTunnel:
        return self

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        thrown: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        await self.close()

    async def _receive(self) -> None:
        is_ended = False
        try:
            while True:
                message = await self._connection.receive()
                if isinstance(message, str):
                    is_ended = True
                    await self._unread.end()
                else:
                    await self._unread.put(message)
                    await self._unread.until_below(_UNREAD_MAX_BYTES)
        except Error as error:
            # After both directions have ended the service closes with 1000.
            is_over = is_ended or (isinstance(error, ConnectionLost) and error.close_code == 1000)
            if not self._is_closed and not is_over:
                self._error = error
        finally:
            await self._unread.end()
