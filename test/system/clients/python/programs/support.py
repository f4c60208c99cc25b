"""What the programs of this folder need in both manners."""

from __future__ import annotations

import asyncio
import faulthandler
import functools
import inspect
import os
import sys
import threading
from typing import Any, Awaitable, Callable, Generic, Iterable, List, Optional, Set, TypeVar

T = TypeVar("T")


class AsyncBackground(Generic[T]):
    """Something that goes on beside the program."""

    def __init__(self, work: Callable[[], Awaitable[T]]) -> None:
        async def run() -> T:
            return await work()

        self._task = asyncio.get_running_loop().create_task(run())

    @property
    def done(self) -> bool:
        return self._task.done()

    async def result(self) -> T:
        return await self._task

    async def abandon(self) -> None:
        """Gives up waiting for it."""
        self._task.cancel()
        try:
            await self._task
        except asyncio.CancelledError:
            return
        raise AssertionError("It was over.")


class Background(Generic[T]):
    """The same in a thread."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._results: List[T] = []
        self._thrown: Optional[BaseException] = None

        def run() -> None:
            try:
                self._results.append(work())
            except BaseException as thrown:
                self._thrown = thrown

        self._thread = threading.Thread(target=run, daemon=True)
        self._thread.start()

    @property
    def done(self) -> bool:
        return not self._thread.is_alive()

    def result(self) -> T:
        self._thread.join()
        if self._thrown is not None:
            raise self._thrown
        return self._results[0]

    def abandon(self) -> None:
        """Nobody ends a thread."""


class AsyncGate:
    """Where all wait until it opens."""

    def __init__(self) -> None:
        self._event = asyncio.Event()
        self.waiting = 0

    async def passed(self) -> None:
        self.waiting += 1
        await self._event.wait()

    def open(self) -> None:
        self._event.set()


class Gate:
    def __init__(self) -> None:
        self._event = threading.Event()
        self._counting = threading.Lock()
        self.waiting = 0

    def passed(self) -> None:
        with self._counting:
            self.waiting += 1
        self._event.wait()

    def open(self) -> None:
        self._event.set()


def public_methods(classes: Iterable[type]) -> Set[str]:
    return {
        f"{cls.__name__}.{name}"
        for cls in classes
        for name, member in vars(cls).items()
        if inspect.isfunction(member) and not name.startswith("_")
    }


class Called:
    """Which public methods of some classes were called since. A program that takes too long ends with the last one."""

    def __init__(self, classes: Iterable[type]) -> None:
        known = list(classes)
        self._called: Set[str] = set()
        self._latest = "nothing"
        # Before the test gives up, and says nothing of it.
        hangs = threading.Timer(110, self._hangs)
        hangs.daemon = True
        hangs.start()
        self._all = public_methods(known)
        for cls in known:
            for name, member in list(vars(cls).items()):
                if f"{cls.__name__}.{name}" in self._all:
                    setattr(cls, name, self._noting(f"{cls.__name__}.{name}", member))

    def _noting(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def noted(*args: Any, **kwargs: Any) -> Any:
            self._called.add(name)
            self._latest = name
            return method(*args, **kwargs)

        return noted

    def _hangs(self) -> None:
        print(f"It hangs after {self._latest}.", file=sys.stderr)
        faulthandler.dump_traceback()
        os._exit(1)

    @property
    def missing(self) -> List[str]:
        return sorted(self._all - self._called)
