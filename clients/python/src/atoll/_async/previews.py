"""Ports of a Sandbox, each under a separate URL."""

from __future__ import annotations

import asyncio
import time
from types import TracebackType
from typing import Awaitable, Callable, List, Optional, Type

from ..errors import Error, WaitTimeout
from ..schemas import ListedPreview
from ..schemas import Preview as PreviewRecord
from .api import AsyncApi
from .opening import opening

_LOOK_EVERY_SECONDS = 0.15


class AsyncPreview:
    id: str
    url: str
    """Anyone who knows it can use it."""
    port: int
    expires_at: str
    record: PreviewRecord

    def __init__(self, api: AsyncApi, record: PreviewRecord) -> None:
        self._api = api
        self.record = record
        self.id = record.id
        self.url = record.url
        self.port = record.port
        self.expires_at = record.expires_at

    async def close(self) -> None:
        await self._api.close_preview(self.record.sandbox_id, self.id)

    async def __aenter__(self) -> AsyncPreview:
        return self

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        thrown: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        await self.close()


class AsyncPreviews:
    def __init__(self, api: AsyncApi, sandbox_id: str, listens: Callable[[int], Awaitable[bool]]) -> None:
        """listens: whether a program in the Sandbox takes connections on a port."""
        self._api = api
        self._id = sandbox_id
        self._listens = listens

    @opening
    async def open(self, port: int, *, within_seconds: float = 30) -> AsyncPreview:
        """One per Sandbox, for an hour; at the end of a block it is closed:

            async with sandbox.previews.open(3000) as preview:

        within_seconds: how long to wait until a program listens; then the preview is closed and the call fails with WaitTimeout. 0: not at all.
        """
        preview = AsyncPreview(self._api, (await self._api.create_preview(self._id, port=port)).preview)
        if within_seconds <= 0:
            return preview
        try:
            until = time.monotonic() + within_seconds
            while not await self._listens(port):
                if time.monotonic() > until:
                    raise WaitTimeout(f"Nothing listens on port {port} after {within_seconds:g} s.")
                await asyncio.sleep(_LOOK_EVERY_SECONDS)
        except BaseException:
            await _closed(preview)
            raise
        return preview

    async def list(self) -> List[ListedPreview]:
        return (await self._api.list_previews(self._id)).previews

    async def close(self) -> None:
        """Closes the open preview, even if its id is lost."""
        await self._api.close_previews(self._id)


async def _closed(preview: AsyncPreview) -> None:
    try:
        await preview.close()
    except Error:
        pass
