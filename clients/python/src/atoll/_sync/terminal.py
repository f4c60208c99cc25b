# Made by `npm run clients` from _async/terminal.py. Not to be edited.
"""A login shell on a terminal in a Sandbox. It lives as long as its connection."""

from __future__ import annotations

import json
from types import TracebackType
from typing import Generator, Optional, Type, Union

from .._mailbox import Mailbox
from .._task import Task
from .._turn import Turn
from ..errors import ConnectionLost, Error
from ..terminal_exit import TerminalExit
from .websocket import WebSocket

_INPUT_MAX_BYTES = 64 * 1024
"""Of one frame."""
_UNREAD_MAX_BYTES = 256 * 1024
"""Above this much unread output the shell waits, until it has fallen to the lower bound."""
_UNREAD_LOW_BYTES = 64 * 1024


class Terminal:
    """For one reader."""

    def __init__(self, connection: WebSocket) -> None:
        self._connection = connection
        self._unread = Mailbox()
        self._is_held_back = False
        self._steering = Turn()
        """The controls are sent in the order in which they were decided: a pause after its resume would be for ever."""
        self._is_closed = False
        self._exit: Optional[TerminalExit] = None
        self._error: Optional[Error] = None
        self._receiving = Task(self._receive)

    def output(self) -> Generator[bytes, None, None]:
        """The terminal's output as it comes, until the shell ends; characters may be cut between two pieces.

        A reader that pauses holds the shell back, and may go on later. Fails with ConnectionLost.
        """
        while True:
            piece = self._unread.take()
            if piece is None:
                break
            with self._steering:
                if self._is_held_back and self._unread.size <= _UNREAD_LOW_BYTES:
                    self._is_held_back = False
                    self._steer({"type": "resume"})
            yield piece
        if self._error is not None:
            raise self._error

    def wait(self) -> Optional[TerminalExit]:
        """How the shell ended; None: this client closed it. Without a reader of the output it may not end. Fails with ConnectionLost."""
        self._receiving.finished()
        if self._error is not None:
            raise self._error
        return self._exit

    def write(self, data: Union[str, bytes]) -> None:
        """Sends input. Returns when there is room for more. Fails with ConnectionLost; after the shell's end it does nothing."""
        typed = data.encode() if isinstance(data, str) else data
        for at in range(0, len(typed), _INPUT_MAX_BYTES):
            if self._is_over:
                return
            self._connection.send(typed[at : at + _INPUT_MAX_BYTES])

    def resize(self, columns: int, rows: int) -> None:
        """In characters, 1 to 1000 each."""
        if not self._is_over:
            self._connection.send(json.dumps({"type": "resize", "columns": columns, "rows": rows}))

    def close(self) -> None:
        """Ends the shell and its processes."""
        self._is_closed = True
        self._connection.close()
        self._receiving.finished()

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        thrown: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()

    @property
    def _is_over(self) -> bool:
        return self._exit is not None or self._is_closed

    def _receive(self) -> None:
        try:
            while self._exit is None:
                message = self._connection.receive()
                if isinstance(message, str):
                    self._exit = TerminalExit.from_text(message)
                    return
                self._unread.put(message)
                with self._steering:
                    if not self._is_held_back and self._unread.size > _UNREAD_MAX_BYTES:
                        self._is_held_back = True
                        self._steer({"type": "pause"})
        except Error as error:
            if not self._is_closed:
                self._error = error
        finally:
            self._unread.end()

    def _steer(self, control: object) -> None:
        try:
            self._connection.send(json.dumps(control))
        except ConnectionLost:
            # A reader gets the failure.
            pass
