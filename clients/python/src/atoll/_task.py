"""Work that goes on beside its caller."""

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
        """Fails as the work failed. A caller that stops waiting does not end it."""
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

        # The program may end while it goes on.
        self._thread = threading.Thread(target=run, daemon=True)
        self._thread.start()

    def finished(self) -> None:
        self._thread.join()
        if self._thrown is not None:
            raise self._thrown
