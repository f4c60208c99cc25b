# Made by `npm run clients` from _async/previews.py. Not to be edited.
"""Ports of a Sandbox, each under a separate URL."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Callable, List, Optional, Type

from ..errors import Error, WaitTimeout
from ..schemas import ListedPreview
from ..schemas import Preview as PreviewRecord
from .api import Api

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

    def open(self, port: int, *, within_seconds: float = 30) -> Preview:
        """One per Sandbox, for an hour; at the end of a block it is closed:

            with sandbox.previews.open(3000) as preview:

        within_seconds: how long to wait until a program listens; then the preview is closed and the call fails with WaitTimeout. 0: not at all.
        """
        preview = Preview(self._api, self._api.create_preview(self._id, port=port).preview)
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
