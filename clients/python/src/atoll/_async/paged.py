"""The pages of a list one after the other, each requested when the one before was consumed."""

from __future__ import annotations

from typing import AsyncIterator, Awaitable, Callable, Optional, Protocol, TypeVar


class Page(Protocol):
    @property
    def next_cursor(self) -> Optional[str]: ...


P = TypeVar("P", bound=Page)


async def paged(ask: Callable[[Optional[str]], Awaitable[P]]) -> AsyncIterator[P]:
    page = await ask(None)
    yield page
    while page.next_cursor is not None:
        page = await ask(page.next_cursor)
        yield page
