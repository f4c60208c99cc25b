"""A port of this machine that leads to one of a Sandbox."""

from __future__ import annotations

from types import TracebackType
from typing import Optional, Type

from .._listener import AsyncListener
from .._task import AsyncTask
from .._wire import AsyncWire
from ..errors import Error
from .tunnel import AsyncTunnel
from .tunnels import AsyncTunnels


class AsyncForward:
    host: str
    port: int
    """Of this machine."""

    def __init__(self, listener: AsyncListener, host: str) -> None:
        self._listener = listener
        self.host = host
        self.port = listener.port

    @classmethod
    async def open(cls, tunnels: AsyncTunnels, port: int, host: str, local_port: int) -> AsyncForward:
        async def serve(wire: AsyncWire) -> None:
            try:
                tunnel = await tunnels.open(port)
            except (Error, OSError):
                # No program listens there, or not any more: the connection ends.
                return
            try:
                await _carry(wire, tunnel)
            finally:
                await tunnel.close()

        await tunnels.ready(port)
        return cls(await AsyncListener.open(host, local_port, serve), host)

    async def close(self) -> None:
        """With the connections that were made to it."""
        await self._listener.aclose()

    async def __aenter__(self) -> AsyncForward:
        return self

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        thrown: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        await self.close()


async def _carry(wire: AsyncWire, tunnel: AsyncTunnel) -> None:
    """Until both directions have ended, or either side breaks."""

    async def out() -> None:
        try:
            while True:
                data = await wire.read()
                if not data:
                    break
                await tunnel.write(data)
            await tunnel.write_eof()
        except (Error, OSError):
            await tunnel.close()

    sending = AsyncTask(out)
    try:
        while True:
            data = await tunnel.read()
            if not data:
                break
            await wire.write(data)
        await wire.write_eof()
        await sending.finished()
    except (Error, OSError):
        pass
    finally:
        await wire.aclose()
        await sending.finished()
