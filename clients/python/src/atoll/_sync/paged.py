# Made by `npm run clients` from _async/paged.py. Not to be edited.
"""The pages of a list one after the other, each requested when the one before was consumed."""

from __future__ import annotations

from typing import Callable, Iterator, Optional, Protocol, TypeVar


class Page(Protocol):
    @property
    def next_cursor(self) -> Optional[str]: ...


P = TypeVar("P", bound=Page)


def paged(ask: Callable[[Optional[str]], P]) -> Iterator[P]:
    page = ask(None)
    yield page
    while page.next_cursor is not None:
        page = ask(page.next_cursor)
        yield page
