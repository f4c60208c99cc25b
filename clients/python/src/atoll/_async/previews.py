"""Ports of a Sandbox, each under a separate URL."""

from __future__ import annotations

import asyncio
import time
from types import TracebackType
from typing import Any, Awaitable, Callable, List, Mapping, Optional, Sequence, Type, Union

import httpx

from .._given import UNSET, Given
from .._preview_url import preview_url
from ..errors import Error, WaitTimeout
from ..schemas import ListedPreview
from ..schemas import Preview as PreviewRecord
from .api import AsyncApi
from .opening import opening
from .preview_fetch import fetch_preview
from .preview_socket import AsyncPreviewSocket

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

    async def fetch(
        self,
        path: str = "/",
        *,
        method: str = "GET",
        params: Optional[Mapping[str, str]] = None,
        headers: Optional[Mapping[str, str]] = None,
        content: Optional[Union[str, bytes]] = None,
        json: Optional[Any] = None,
        seconds: Optional[float] = None,
    ) -> httpx.Response:
        """The answer of the program to a path of the preview, of any status: `preview.fetch("/health").text`.

        It needs no name service, where a request to `url` does: names below `.localhost` do not resolve in Python. Sends no API key.
        Fails with ConnectionError.

        seconds: how long to wait to be connected, and until more of the answer comes; by default the client's `attempt_seconds`.
        """
        return await fetch_preview(
            self._api.transport,
            preview_url(self.url, path, params),
            method=method,
            headers=headers,
            content=content,
            json=json,
            seconds=seconds,
        )

    @opening
    async def websocket(
        self, path: str = "/", *, protocols: Sequence[str] = (), headers: Optional[Mapping[str, str]] = None
    ) -> AsyncPreviewSocket:
        """A WebSocket to a path of the preview, as `fetch` reaches it; at the end of a block it is closed. Fails with ConnectionError."""
        url = preview_url(self.url, path, None)
        return await AsyncPreviewSocket.open(self._api.transport, url, protocols, headers or {})

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
    async def open(self, port: int, *, alongside: bool = False, within_seconds: float = 30) -> AsyncPreview:
        """One a Sandbox, for an hour; at the end of a block it is closed:

            async with sandbox.previews.open(3000) as preview:

        alongside: opens it beside previews of other ports; without it the service refuses while one is open (PreviewExistsError).
        within_seconds: how long to wait until a program listens; then it fails with WaitTimeout, and the preview is closed. 0: not at all.
        """
        given: Given[Optional[bool]] = True if alongside else UNSET
        preview = AsyncPreview(self._api, (await self._api.create_preview(self._id, port=port, alongside=given)).preview)
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

    async def get(self, port: int) -> AsyncPreview:
        """The open preview of that port; any key of the account may have opened it. Fails with NotFoundError where none is open."""
        return AsyncPreview(self._api, (await self._api.look_up_preview(self._id, port=port)).preview)

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
