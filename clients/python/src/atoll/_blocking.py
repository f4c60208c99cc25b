"""Blocking work on this machine's files: in a thread beside the event loop, or directly."""

from __future__ import annotations

import asyncio
from typing import AsyncIterator, Callable, Iterator, Optional, TypeVar

T = TypeVar("T")


class AsyncBlocking:
    @staticmethod
    async def run(work: Callable[[], T]) -> T:
        return await asyncio.to_thread(work)


class Blocking:
    @staticmethod
    def run(work: Callable[[], T]) -> T:
        return work()


class AsyncPieces:
    """Pieces of a maker that blocks."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            piece: Optional[bytes] = await asyncio.to_thread(lambda: next(self._pieces, None))
            if piece is None:
                return
            yield piece


class Pieces:
    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces

    def __iter__(self) -> Iterator[bytes]:
        return self._pieces
