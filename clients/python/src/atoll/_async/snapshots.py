"""Snapshots of an account: volumes of Sandboxes as they were at one instant."""

from __future__ import annotations

import asyncio
import time
from typing import AsyncIterator, Optional, Sequence

from .._given import UNSET, Given
from ..errors import WaitTimeout
from ..schemas import Snapshot as SnapshotRecord
from ..schemas import SnapshotStatus, Transition
from .api import AsyncApi
from .paged import paged

_LOOK_EVERY_SECONDS = 0.1


class AsyncSnapshot:
    id: str
    sandbox_id: str
    """The Sandbox that it was taken of."""
    record: SnapshotRecord
    """As the service's last answer has it."""

    def __init__(self, api: AsyncApi, record: SnapshotRecord) -> None:
        self._api = api
        self.record = record
        self.id = record.id
        self.sandbox_id = record.sandbox_id

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id} {self.status}>"

    @property
    def status(self) -> SnapshotStatus:
        """As the service's last answer has it."""
        return self.record.status

    async def refresh(self) -> AsyncSnapshot:
        self.record = (await self._api.get_snapshot(self.id)).snapshot
        return self

    async def until_ready(self, *, within_seconds: float = 120) -> AsyncSnapshot:
        """Waits while its host makes the image. Fails with WaitTimeout, and with its status if it will not be ready."""
        until = time.monotonic() + within_seconds
        while self.status == "creating":
            if time.monotonic() > until:
                raise WaitTimeout(f"The snapshot {self.id} is {self.status} after {within_seconds:g} s.")
            await asyncio.sleep(_LOOK_EVERY_SECONDS)
            await self.refresh()
        if self.status != "ready":
            reason = self.record.status_reason
            why = "" if reason is None else f" ({reason.code}: {reason.message})"
            raise WaitTimeout(f"The snapshot {self.id} is {self.status}{why}, and will not be ready.")
        return self

    async def update(
        self, *, name: Given[Optional[str]] = UNSET, expires_at: Given[Optional[str]] = UNSET
    ) -> AsyncSnapshot:
        """Changes the given fields. None removes a field.

        expires_at: when it is deleted by itself, as RFC 3339.
        """
        self.record = (await self._api.update_snapshot(self.id, name=name, expires_at=expires_at)).snapshot
        return self

    async def delete(self) -> None:
        """Permanently. Sandboxes that were made of it keep their volumes."""
        await self._api.delete_snapshot(self.id, attempt_seconds=45)

    async def transitions(self) -> AsyncIterator[Transition]:
        """Its transitions, oldest first; requests the next page by itself."""
        ask = self._api.list_snapshot_transitions
        async for page in paged(lambda cursor: ask(self.id, cursor=cursor)):
            for transition in page.transitions:
                yield transition


class AsyncSnapshots:
    def __init__(self, api: AsyncApi) -> None:
        self._api = api

    async def get(self, id: str) -> AsyncSnapshot:
        return AsyncSnapshot(self._api, (await self._api.get_snapshot(id)).snapshot)

    async def list(
        self, *, sandbox_id: Optional[str] = None, status: Optional[Sequence[SnapshotStatus]] = None
    ) -> AsyncIterator[AsyncSnapshot]:
        """Newest first, deleted ones included unless `status` says otherwise; requests the next page by itself.

        sandbox_id: only those that were taken of this Sandbox.
        """
        states = None if status is None else [*status]
        ask = self._api.list_snapshots
        async for page in paged(lambda cursor: ask(sandbox_id=sandbox_id, status=states, cursor=cursor)):
            for record in page.snapshots:
                yield AsyncSnapshot(self._api, record)
