"""A port of this machine, and the handler of each connection to it."""

from __future__ import annotations

import asyncio
import socket
import threading
from typing import Awaitable, Callable, Set

from ._wire import AsyncWire, Wire


class AsyncListener:
    def __init__(self, server: asyncio.AbstractServer, port: int, tasks: Set[asyncio.Task[None]]) -> None:
        self._server = server
        self._tasks = tasks
        self.port = port

    @classmethod
    async def open(cls, host: str, port: int, serve: Callable[[AsyncWire], Awaitable[None]]) -> AsyncListener:
        """Fails with OSError if the port is taken. port 0: any."""
        tasks: Set[asyncio.Task[None]] = set()

        async def served(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            if task is not None:
                tasks.add(task)
                task.add_done_callback(tasks.discard)
            wire = AsyncWire(reader, writer)
            try:
                await serve(wire)
            except asyncio.CancelledError:
                # The listener is closed.
                pass
            finally:
                await wire.aclose()

        server = await asyncio.start_server(served, host, port)
        return cls(server, server.sockets[0].getsockname()[1], tasks)

    async def aclose(self) -> None:
        """With its connections."""
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(list(self._tasks))


class Listener:
    def __init__(self, listening: socket.socket, serve: Callable[[Wire], None]) -> None:
        self._socket = listening
        self._serve = serve
        self._wires: Set[Wire] = set()
        self.port: int = listening.getsockname()[1]
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    @classmethod
    def open(cls, host: str, port: int, serve: Callable[[Wire], None]) -> Listener:
        return cls(socket.create_server((host, port)), serve)

    def _accept(self) -> None:
        while True:
            try:
                connected, _ = self._socket.accept()
            except OSError:
                return
            wire = Wire(connected, None, "")
            self._wires.add(wire)
            threading.Thread(target=self._served, args=(wire,), daemon=True).start()

    def _served(self, wire: Wire) -> None:
        try:
            self._serve(wire)
        finally:
            wire.close()
            self._wires.discard(wire)

    def close(self) -> None:
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._socket.close()
        self._thread.join()
        for wire in list(self._wires):
            wire.close()
