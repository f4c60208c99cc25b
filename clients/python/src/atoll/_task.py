"""Something that goes on beside whoever began it."""

from __future__ import annotations

import asyncio
import threading
from typing import Awaitable, Callable, Optional


class AsyncTask:
    def __init__(self, work: Callable[[], Awaitable[None]]) -> None:
        async def run() -> None:
            await work()

        self._task = asyncio.get_running_loop().create_task(run())

    async def finished(self) -> None:
        """Fails as it failed. Who gives up waiting does not end it."""
        await asyncio.wait([self._task])
        self._task.result()


class Task:
    def __init__(self, work: Callable[[], None]) -> None:
        self._thrown: Optional[BaseException] = None

        def run() -> None:
            try:
                work()
            except BaseException as thrown:
                self._thrown = thrown

        # A program ends although it goes on.
        self._thread = threading.Thread(target=run, daemon=True)
        self._thread.start()

    def finished(self) -> None:
        self._thread.join()
        if self._thrown is not None:
            raise self._thrown
