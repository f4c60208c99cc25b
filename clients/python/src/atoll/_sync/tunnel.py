# Made by `npm run clients` from _async/tunnel.py. Not to be edited.
"""A TCP connection into a Sandbox."""

from __future__ import annotations

from types import TracebackType
from typing import Optional, Type

from .._mailbox import Mailbox
from .._task import Task
from ..errors import ConnectionLost, Error
from .websocket import WebSocket

_MESSAGE_MAX_BYTES = 256 * 1024
_UNREAD_MAX_BYTES = 256 * 1024
"""Above this the program in the Sandbox waits before it sends more."""

_END = "end"
"""Of one direction."""


class Tunnel:
    """For one reader, and one writer."""

    def __init__(self, connection: WebSocket) -> None:
        self._connection = connection
        self._unread = Mailbox()
        self._error: Optional[Error] = None
        self._is_closed = False
        self._receiving = Task(self._receive)

    def read(self) -> bytes:
        """The received bytes; waits for some. Empty once the program in the Sandbox sends no more. Fails with ConnectionLost."""
        piece = self._unread.take()
        if piece is None and self._error is not None:
            raise self._error
        return piece or b""

    def write(self, data: bytes) -> None:
        """Returns when there is room for more. Fails with ConnectionLost."""
        for at in range(0, len(data), _MESSAGE_MAX_BYTES):
            self._connection.send(data[at : at + _MESSAGE_MAX_BYTES])

    def write_eof(self) -> None:
        """Nothing more will be written; received bytes can still be read."""
        self._connection.send(_END)

    def close(self) -> None:
        self._is_closed = True
        self._unread.end()
        self._connection.close()
        self._receiving.finished()

    def __enter__(self) -> Tunnel:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        thrown: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()

    def _receive(self) -> None:
        is_ended = False
        try:
            while True:
                message = self._connection.receive()
                if isinstance(message, str):
                    is_ended = True
                    self._unread.end()
                else:
                    self._unread.put(message)
                    self._unread.until_below(_UNREAD_MAX_BYTES)
        except Error as error:
            # After both directions have ended the service closes with 1000.
            is_over = is_ended or (isinstance(error, ConnectionLost) and error.close_code == 1000)
            if not self._is_closed and not is_over:
                self._error = error
        finally:
            self._unread.end()
