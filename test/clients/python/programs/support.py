"""What the programs of this folder need in both manners."""

from __future__ import annotations

import asyncio
import functools
import inspect
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


class Called:
    """Which public methods of some classes were called since."""

    def __init__(self, classes: Iterable[type]) -> None:
        self._called: Set[str] = set()
        self._all: Set[str] = set()
        for cls in classes:
            for name, member in list(vars(cls).items()):
                if inspect.isfunction(member) and not name.startswith("_"):
                    self._all.add(f"{cls.__name__}.{name}")
                    setattr(cls, name, self._noting(f"{cls.__name__}.{name}", member))

    def _noting(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def noted(*args: Any, **kwargs: Any) -> Any:
            self._called.add(name)
            return method(*args, **kwargs)

        return noted

    @property
    def missing(self) -> List[str]:
        return sorted(self._all - self._called)
