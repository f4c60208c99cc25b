# Made by `npm run clients` from _async/forward.py. Not to be edited.
"""A port of this machine that leads to one of a Sandbox."""

from __future__ import annotations

from types import TracebackType
from typing import Optional, Type

from .._listener import Listener
from .._task import Task
from .._wire import Wire
from ..errors import Error
from .tunnel import Tunnel
from .tunnels import Tunnels


class Forward:
    host: str
    port: int
    """Of this machine."""

    def __init__(self, listener: Listener, host: str) -> None:
        self._listener = listener
        self.host = host
        self.port = listener.port

    @classmethod
    def open(cls, tunnels: Tunnels, port: int, host: str, local_port: int) -> Forward:
        def serve(wire: Wire) -> None:
            try:
                tunnel = tunnels.open(port)
            except (Error, OSError):
                # No program listens there, or not any more: the connection ends.
                return
            try:
                _carry(wire, tunnel)
            finally:
                tunnel.close()

        tunnels.ready(port)
        return cls(Listener.open(host, local_port, serve), host)

    def close(self) -> None:
        """With the connections that were made to it."""
        self._listener.close()

    def __enter__(self) -> Forward:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        thrown: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()


def _carry(wire: Wire, tunnel: Tunnel) -> None:
    """Until both directions have ended, or either side breaks."""

    def out() -> None:
        try:
            while True:
                data = wire.read()
                if not data:
                    break
                tunnel.write(data)
            tunnel.write_eof()
        except (Error, OSError):
            tunnel.close()

    sending = Task(out)
    try:
        while True:
            data = tunnel.read()
            if not data:
                break
            wire.write(data)
        wire.write_eof()
        sending.finished()
    except (Error, OSError):
        pass
    finally:
        wire.close()
        sending.finished()
