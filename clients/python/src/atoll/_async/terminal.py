"""A login shell on a terminal in a Sandbox. It lives as long as its connection."""

from __future__ import annotations

import json
from types import TracebackType
from typing import AsyncGenerator, Optional, Type, Union

from .._mailbox import AsyncMailbox
from .._task import AsyncTask
from .._turn import AsyncTurn
from ..errors import ConnectionLost, Error
from ..terminal_exit import TerminalExit
from .websocket import AsyncWebSocket

_INPUT_MAX_BYTES = 64 * 1024
"""Of one frame."""
_UNREAD_MAX_BYTES = 256 * 1024
"""Above this much unread output the shell waits, until it has fallen to the lower bound."""
_UNREAD_LOW_BYTES = 64 * 1024


class AsyncTerminal:
    """For one reader."""

    def __init__(self, connection: AsyncWebSocket) -> None:
        self._connection = connection
        self._unread = AsyncMailbox()
        self._is_held_back = False
        self._steering = AsyncTurn()
        """The controls are sent in the order in which they were decided: a pause after its resume would be for ever."""
        self._is_closed = False
        self._exit: Optional[TerminalExit] = None
        self._error: Optional[Error] = None
        self._receiving = AsyncTask(self._receive)

    async def output(self) -> AsyncGenerator[bytes, None]:
        """The terminal's output as it comes, until the shell ends; characters may be cut between two pieces.

        A reader that pauses holds the shell back, and may go on later. Fails with ConnectionLost.
        """
        while True:
            piece = await self._unread.take()
            if piece is None:
                break
            async with self._steering:
                if self._is_held_back and self._unread.size <= _UNREAD_LOW_BYTES:
                    self._is_held_back = False
                    await self._steer({"type": "resume"})
            yield piece
        if self._error is not None:
            raise self._error

    async def wait(self) -> Optional[TerminalExit]:
        """How the shell ended; None: this client closed it. Without a reader of the output it may not end. Fails with ConnectionLost."""
        await self._receiving.finished()
        if self._error is not None:
            raise self._error
        return self._exit

    async def write(self, data: Union[str, bytes]) -> None:
        """Sends input. Returns when there is room for more. Fails with ConnectionLost; after the shell's end it does nothing."""
        typed = data.encode() if isinstance(data, str) else data
        for at in range(0, len(typed), _INPUT_MAX_BYTES):
            if self._is_over:
                return
            await self._connection.send(typed[at : at + _INPUT_MAX_BYTES])

    async def resize(self, columns: int, rows: int) -> None:
        """In characters, 1 to 1000 each."""
        if not self._is_over:
            await self._connection.send(json.dumps({"type": "resize", "columns": columns, "rows": rows}))

    async def close(self) -> None:
        """Ends the shell and its processes."""
        self._is_closed = True
        await self._connection.aclose()
        await self._receiving.finished()

    async def __aenter__(self) -> AsyncTerminal:
        return self

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        thrown: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        await self.close()

    @property
    def _is_over(self) -> bool:
        return self._exit is not None or self._is_closed

    async def _receive(self) -> None:
        try:
            while self._exit is None:
                message = await self._connection.receive()
                if isinstance(message, str):
                    self._exit = TerminalExit.from_text(message)
                    return
                await self._unread.put(message)
                async with self._steering:
                    if not self._is_held_back and self._unread.size > _UNREAD_MAX_BYTES:
                        self._is_held_back = True
                        await self._steer({"type": "pause"})
        except Error as error:
            if not self._is_closed:
                self._error = error
        finally:
            await self._unread.end()

    async def _steer(self, control: object) -> None:
        try:
            await self._connection.send(json.dumps(control))
        except ConnectionLost:
            # A reader gets the failure.
            pass
