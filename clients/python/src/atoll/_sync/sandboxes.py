# Made by `npm run clients` from _async/sandboxes.py. Not to be edited.
"""The Sandboxes of an account."""

from __future__ import annotations

from typing import Dict, Iterator, Literal, Mapping, Optional, Sequence, Union

from .._given import unless_none
from .._random_key import random_key
from ..schemas import Checkpoints, Lifetime, Profile, SandboxStatus
from .api import Api
from .images import Image
from .paged import paged
from .sandbox import Sandbox
from .snapshots import Snapshot
from .workspaces import Workspaces


class Sandboxes:
    def __init__(self, api: Api, workspaces: Workspaces) -> None:
        self._api = api
        self._workspaces = workspaces

    def create(
        self,
        *,
        name: Optional[str] = None,
        workspace_id: Optional[str] = None,
        runtime: Optional[Literal["vm", "namespace"]] = None,
        profile: Optional[Profile] = None,
        network_enabled: Optional[bool] = None,
        metadata: Optional[Mapping[str, str]] = None,
        env: Optional[Mapping[str, str]] = None,
        lifetime: Optional[Lifetime] = None,
        checkpoints: Optional[Checkpoints] = None,
        snapshot: Union[Snapshot, str, None] = None,
        image: Union[Image, str, None] = None,
        until_running: bool = True,
        within_seconds: float = 120,
        idempotency_key: Optional[str] = None,
    ) -> Sandbox:
        """Makes one and waits until it runs; at the end of a block it is deleted:

            with atoll.sandboxes.create() as sandbox:

        workspace_id: by default the account's first one, which is made if there is none.
        runtime: a virtual machine, or namespaces of the host's kernel; by default the operator's choice.
        profile: its sizes; by default, as each part of it, the operator's choice.
        network_enabled: whether it reaches the internet and can have previews; by default it may.
        env: variables of every command in it. They are secret: answers have only their names.
        lifetime: what stops and deletes it by itself.
        checkpoints: the snapshots that it takes by itself, and how many of them stay.
        snapshot: its volume begins as a copy of this one: a snapshot that is ready, or its id. Its variables come along.
        image: its root file system: an image that is ready, or its id. Its variables come along, too.
        until_running: False returns a pending Sandbox.
        within_seconds: how long to wait until it runs; then it fails with WaitTimeout.
        idempotency_key: names this creation: the same key returns the same Sandbox, also from another process. By default a new key.
            If this call is cancelled or fails, the Sandbox may exist all the same: the same call with the key returns it, so that it can be deleted.
        """
        answer = self._api.create_sandbox(
            idempotency_key=idempotency_key or random_key(),
            wait="running" if until_running else None,
            workspace_id=workspace_id or self._workspaces.first().id,
            name=unless_none(name),
            runtime=unless_none(runtime),
            profile=unless_none(profile),
            network_enabled=unless_none(network_enabled),
            metadata=unless_none(_copied(metadata)),
            env=unless_none(_copied(env)),
            lifetime=unless_none(lifetime),
            checkpoints=unless_none(checkpoints),
            snapshot_id=unless_none(snapshot.id if isinstance(snapshot, Snapshot) else snapshot),
            image_id=unless_none(image.id if isinstance(image, Image) else image),
            attempt_seconds=45,
        )
        sandbox = Sandbox(self._api, answer.sandbox)
        if until_running:
            sandbox.until_running(within_seconds=within_seconds)
        return sandbox

    def get(self, id: str) -> Sandbox:
        return Sandbox(self._api, self._api.get_sandbox(id).sandbox)

    def list(
        self,
        *,
        status: Optional[Sequence[SandboxStatus]] = None,
        workspace_id: Optional[str] = None,
        metadata: Optional[Mapping[str, str]] = None,
    ) -> Iterator[Sandbox]:
        """Newest first, deleted ones included unless `status` says otherwise; requests the next page by itself.

        metadata: only Sandboxes with all of these pairs.
        """
        states = None if status is None else [*status]
        pairs = {f"metadata.{name}": value for name, value in (metadata or {}).items()}
        ask = self._api.list_sandboxes
        pages = paged(
            lambda cursor: ask(status=states, workspace_id=workspace_id, metadata=pairs, limit=100, cursor=cursor)
        )
        for page in pages:
            for record in page.sandboxes:
                yield Sandbox(self._api, record)


def _copied(pairs: Optional[Mapping[str, str]]) -> Optional[Dict[str, str]]:
    return None if pairs is None else dict(pairs)
