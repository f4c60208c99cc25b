# Made by `npm run clients` from _async/snapshots.py. Not to be edited.
"""Snapshots of an account: volumes of Sandboxes as they were at one instant."""

from __future__ import annotations

import time
import uuid
import time
from os import PathLike, fspath, remove, replace
from os.path import exists
from typing import Iterator, Optional, Sequence, Union

import httpx

from .._blocking import Blocking, Pieces
from .._file_pieces import file_pieces
from .._given import UNSET, Given
from .._random_key import random_key
from .._unpack import append
from ..errors import ConnectionError, WaitTimeout
from ..schemas import Snapshot as SnapshotRecord
from ..schemas import SnapshotStatus, Transition
from .api import Api
from .paged import paged
from .workspaces import Workspaces

_LOOK_EVERY_SECONDS = 0.1
_FRUITLESS_MAX = 5
"""How often a download that brings nothing is continued."""
_IMPORT_SECONDS = 300.0
"""The service answers once the whole file is on the disk."""


class Snapshot:
    id: str
    sandbox_id: Optional[str]
    """The Sandbox that it was taken of; None: it was imported."""
    record: SnapshotRecord
    """As the service's last answer has it."""

    def __init__(self, api: Api, record: SnapshotRecord) -> None:
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

    def refresh(self) -> Snapshot:
        self.record = self._api.get_snapshot(self.id).snapshot
        return self

    def until_ready(self, *, within_seconds: float = 120) -> Snapshot:
        """Waits while its host makes the image. Fails with WaitTimeout, and with its status if it will not be ready."""
        until = time.monotonic() + within_seconds
        while self.status == "creating":
            if time.monotonic() > until:
                raise WaitTimeout(f"The snapshot {self.id} is {self.status} after {within_seconds:g} s.")
            time.sleep(_LOOK_EVERY_SECONDS)
            self.refresh()
        if self.status != "ready":
            reason = self.record.status_reason
            why = "" if reason is None else f" ({reason.code}: {reason.message})"
            raise WaitTimeout(f"The snapshot {self.id} is {self.status}{why}, and will not be ready.")
        return self

    def update(
        self, *, name: Given[Optional[str]] = UNSET, expires_at: Given[Optional[str]] = UNSET
    ) -> Snapshot:
        """Changes the given fields. None removes a field.

        expires_at: when it is deleted by itself, as RFC 3339.
        """
        self.record = self._api.update_snapshot(self.id, name=name, expires_at=expires_at).snapshot
        return self

    def export(self, path: Union[str, PathLike[str]]) -> int:
        """Writes it into one file of this machine, from which import_ makes a snapshot, here or on another server.

        An existing file is replaced once all of it is there. Variables are not in it. Returns how many bytes it has.
        """
        place = fspath(path)
        beside = f"{place}.{uuid.uuid4().hex}"
        try:
            size = self._save(beside)
            Blocking.run(lambda: replace(beside, place))
        finally:
            if exists(beside):
                remove(beside)
        return size

    def _save(self, path: str) -> int:
        """A lost connection is continued at its last byte, or begun again where the service makes another file by now."""
        offset = fruitless = 0
        tag: Optional[str] = None
        while True:
            answer = self._api.open_export_snapshot(self.id, offset=offset)
            before = offset
            try:
                if offset > 0 and answer.headers.get("etag") != tag:
                    Blocking.run(lambda: remove(path))
                    offset = 0
                    continue
                tag = answer.headers.get("etag")
                for piece in answer.iter_bytes():
                    Blocking.run(lambda: append(path, piece))
                    offset += len(piece)
                return offset
            except httpx.RequestError as thrown:
                fruitless = 0 if offset > before else fruitless + 1
                if fruitless == _FRUITLESS_MAX:
                    message = f"The file of {self.id} was cut off {fruitless} times."
                    raise ConnectionError(message, "notApplied") from thrown
            finally:
                answer.close()

    def delete(self) -> None:
        """Permanently. Sandboxes that were made of it keep their volumes."""
        self._api.delete_snapshot(self.id, attempt_seconds=45)

    def transitions(self) -> Iterator[Transition]:
        """Its transitions, oldest first; requests the next page by itself."""
        ask = self._api.list_snapshot_transitions
        for page in paged(lambda cursor: ask(self.id, cursor=cursor)):
            for transition in page.transitions:
                yield transition


class Snapshots:
    def __init__(self, api: Api, workspaces: Workspaces) -> None:
        self._api = api
        self._workspaces = workspaces

    def import_(
        self,
        path: Union[str, PathLike[str]],
        *,
        workspace_id: Optional[str] = None,
        name: Optional[str] = None,
        expires_at: Optional[str] = None,
        until_ready: bool = True,
        within_seconds: float = 120,
        idempotency_key: Optional[str] = None,
    ) -> Snapshot:
        """Makes a snapshot of a file that export has written, and waits until it is ready.

        workspace_id: by default the account's first one, which is made if there is none.
        name: by default the name in the file.
        expires_at: when it is deleted by itself, as RFC 3339.
        until_ready: False returns a snapshot that its host may still be checking.
        idempotency_key: names this import: the same key and file return the same snapshot. By default a new key.
        """
        local = fspath(path)

        def body() -> Pieces:
            return Pieces(file_pieces(local))

        answer = self._api.import_snapshot(
            workspace_id=workspace_id or self._workspaces.first().id,
            name=name,
            expires_at=expires_at,
            content=body,
            idempotency_key=idempotency_key or random_key(),
            attempt_seconds=_IMPORT_SECONDS,
        )
        snapshot = Snapshot(self._api, answer.snapshot)
        return snapshot.until_ready(within_seconds=within_seconds) if until_ready else snapshot

    def get(self, id: str) -> Snapshot:
        return Snapshot(self._api, self._api.get_snapshot(id).snapshot)

    def list(
        self, *, sandbox_id: Optional[str] = None, status: Optional[Sequence[SnapshotStatus]] = None
    ) -> Iterator[Snapshot]:
        """Newest first, deleted ones included unless `status` says otherwise; requests the next page by itself.

        sandbox_id: only those that were taken of this Sandbox.
        """
        states = None if status is None else [*status]
        ask = self._api.list_snapshots
        for page in paged(lambda cursor: ask(sandbox_id=sandbox_id, status=states, cursor=cursor)):
            for record in page.snapshots:
                yield Snapshot(self._api, record)
