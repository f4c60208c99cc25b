"""Received bytes that are not taken yet, in their order."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from typing import Deque, Optional


class AsyncMailbox:
    def __init__(self) -> None:
        self._pieces: Deque[bytes] = deque()
        self._is_ended = False
        self._changed = asyncio.Condition()
        self.size = 0
        """Bytes."""

    async def put(self, piece: bytes) -> None:
        async with self._changed:
            self._pieces.append(piece)
            self.size += len(piece)
            self._changed.notify_all()

    async def end(self) -> None:
        async with self._changed:
            self._is_ended = True
            self._changed.notify_all()

    async def take(self) -> Optional[bytes]:
        """Waits for a piece. None: it has ended, and all pieces were taken."""
        async with self._changed:
            await self._changed.wait_for(lambda: len(self._pieces) > 0 or self._is_ended)
            if not self._pieces:
                return None
            piece = self._pieces.popleft()
            self.size -= len(piece)
            self._changed.notify_all()
            return piece

    async def until_below(self, size: int) -> None:
        """Or until it has ended."""
        async with self._changed:
            await self._changed.wait_for(lambda: self.size < size or self._is_ended)


class Mailbox:
    def __init__(self) -> None:
        self._pieces: Deque[bytes] = deque()
        self._is_ended = False
        self._changed = threading.Condition()
        self.size = 0
        """Bytes."""

    def put(self, piece: bytes) -> None:
        with self._changed:
            self._pieces.append(piece)
            self.size += len(piece)
            self._changed.notify_all()

    def end(self) -> None:
        with self._changed:
            self._is_ended = True
            self._changed.notify_all()

    def take(self) -> Optional[bytes]:
        with self._changed:
            self._changed.wait_for(lambda: len(self._pieces) > 0 or self._is_ended)
            if not self._pieces:
                return None
            piece = self._pieces.popleft()
            self.size -= len(piece)
            self._changed.notify_all()
            return piece

    def until_below(self, size: int) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self.size < size or self._is_ended)
