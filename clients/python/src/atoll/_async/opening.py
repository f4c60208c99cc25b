"""An object that a call makes and the end of a block closes."""

from __future__ import annotations

import functools
from types import TracebackType
from typing import TYPE_CHECKING, Any, AsyncContextManager, Callable, Coroutine, Generator, Generic, Optional, Type, TypeVar

if TYPE_CHECKING:
    from typing_extensions import ParamSpec

    P = ParamSpec("P")

T = TypeVar("T", bound=AsyncContextManager[Any])


class Opening(Coroutine[Any, Any, T], Generic[T]):
    """`await` returns the object; `async with` returns it, and closes it at the end."""

    def __init__(self, made: Coroutine[Any, Any, T]) -> None:
        self._coroutine = made

    def __await__(self) -> Generator[Any, Any, T]:
        return self._coroutine.__await__()

    def send(self, value: Any) -> Any:
        return self._coroutine.send(value)

    def throw(self, *thrown: Any) -> Any:
        return self._coroutine.throw(*thrown)

    def close(self) -> None:
        self._coroutine.close()

    async def __aenter__(self) -> T:
        self._made = await self._coroutine
        await self._made.__aenter__()
        return self._made

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        thrown: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        await self._made.__aexit__(kind, thrown, trace)


def opening(method: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, Opening[T]]:
    """For a method that makes an object: its call can be awaited, or used by `async with` directly."""

    @functools.wraps(method)
    def opened(*args: P.args, **kwargs: P.kwargs) -> Opening[T]:
        return Opening(method(*args, **kwargs))

    return opened
