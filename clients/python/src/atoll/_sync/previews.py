# Made by `npm run clients` from _async/previews.py. Not to be edited.
"""Ports of a Sandbox, each under a separate URL."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Any, Callable, List, Mapping, Optional, Sequence, Type, Union

import httpx

from .._given import UNSET, Given
from .._preview_url import preview_url
from ..errors import Error, WaitTimeout
from ..schemas import ListedPreview
from ..schemas import Preview as PreviewRecord
from .api import Api
from .preview_fetch import fetch_preview
from .preview_socket import PreviewSocket

_LOOK_EVERY_SECONDS = 0.15


class Preview:
    id: str
    url: str
    """Anyone who knows it can use it."""
    port: int
    expires_at: str
    record: PreviewRecord

    def __init__(self, api: Api, record: PreviewRecord) -> None:
        self._api = api
        self.record = record
        self.id = record.id
        self.url = record.url
        self.port = record.port
        self.expires_at = record.expires_at

    def fetch(
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
        return fetch_preview(
            self._api.transport,
            preview_url(self.url, path, params),
            method=method,
            headers=headers,
            content=content,
            json=json,
            seconds=seconds,
        )

    def websocket(
        self, path: str = "/", *, protocols: Sequence[str] = (), headers: Optional[Mapping[str, str]] = None
    ) -> PreviewSocket:
        """A WebSocket to a path of the preview, as `fetch` reaches it; at the end of a block it is closed. Fails with ConnectionError."""
        url = preview_url(self.url, path, None)
        return PreviewSocket.open(self._api.transport, url, protocols, headers or {})

    def close(self) -> None:
        self._api.close_preview(self.record.sandbox_id, self.id)

    def __enter__(self) -> Preview:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        thrown: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()


class Previews:
    def __init__(self, api: Api, sandbox_id: str, listens: Callable[[int], bool]) -> None:
        """listens: whether a program in the Sandbox takes connections on a port."""
        self._api = api
        self._id = sandbox_id
        self._listens = listens

    def open(self, port: int, *, alongside: bool = False, within_seconds: float = 30) -> Preview:
        """One a Sandbox, for an hour; at the end of a block it is closed:

            with sandbox.previews.open(3000) as preview:

        alongside: opens it beside previews of other ports; without it the service refuses while one is open (PreviewExistsError).
        within_seconds: how long to wait until a program listens; then it fails with WaitTimeout, and the preview is closed. 0: not at all.
        """
        given: Given[Optional[bool]] = True if alongside else UNSET
        preview = Preview(self._api, self._api.create_preview(self._id, port=port, alongside=given).preview)
        if within_seconds <= 0:
            return preview
        try:
            until = time.monotonic() + within_seconds
            while not self._listens(port):
                if time.monotonic() > until:
                    raise WaitTimeout(f"Nothing listens on port {port} after {within_seconds:g} s.")
                time.sleep(_LOOK_EVERY_SECONDS)
        except BaseException:
            _closed(preview)
            raise
        return preview

    def get(self, port: int) -> Preview:
        """The open preview of that port; any key of the account may have opened it. Fails with NotFoundError where none is open."""
        return Preview(self._api, self._api.look_up_preview(self._id, port=port).preview)

    def list(self) -> List[ListedPreview]:
        return self._api.list_previews(self._id).previews

    def close(self) -> None:
        """Closes the open preview, even if its id is lost."""
        self._api.close_previews(self._id)


def _closed(preview: Preview) -> None:
    try:
        preview.close()
    except Error:
        pass
