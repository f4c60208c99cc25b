"""Images of an account: root file systems for Sandboxes, pulled from registries, uploaded, or built."""

from __future__ import annotations

import asyncio
import time
from os import PathLike, fspath, scandir
from typing import AsyncGenerator, AsyncIterator, Callable, Mapping, Optional, Sequence, Union

from .._blocking import AsyncPieces
from .._file_pieces import file_pieces
from .._given import unless_none
from .._pack import packed_directory
from .._random_key import random_key
from ..errors import WaitTimeout
from ..output_chunk import OutputChunk
from ..schemas import Image as ImageRecord
from ..schemas import ImageStatus, Profile, Transition
from .api import AsyncApi
from .output import follow_output
from .paged import paged
from .snapshots import AsyncSnapshot
from .workspaces import AsyncWorkspaces

_LOOK_EVERY_SECONDS = 0.2
_UPLOAD_SECONDS = 300.0
"""The service answers once the whole archive is on the disk."""
_BUILD_SECONDS = 3600.0


class AsyncImage:
    id: str
    record: ImageRecord
    """As the service's last answer has it."""

    def __init__(self, api: AsyncApi, record: ImageRecord) -> None:
        self._api = api
        self.record = record
        self.id = record.id

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id} {self.status}>"

    @property
    def status(self) -> ImageStatus:
        """As the service's last answer has it."""
        return self.record.status

    async def refresh(self) -> AsyncImage:
        self.record = (await self._api.get_image(self.id)).image
        return self

    async def build_output(self) -> AsyncGenerator[OutputChunk, None]:
        """The output of its build from the beginning, until that is over. Yields nothing if it never began, or if it was not built."""
        while self.status == "building" and self.record.build is not None and self.record.build.operation_id is None:
            await asyncio.sleep(_LOOK_EVERY_SECONDS)
            await self.refresh()
        build = self.record.build
        if build is None or build.operation_id is None:
            return
        told = follow_output(self._api, build.sandbox_id, build.operation_id, None)
        try:
            async for one in told:
                if isinstance(one, OutputChunk):
                    yield one
        finally:
            await told.aclose()

    async def until_ready(self, *, within_seconds: float = 600) -> AsyncImage:
        """Waits while it is built, or a host pulls or unpacks it. Fails with WaitTimeout, and with its status if it will not be ready."""
        until = time.monotonic() + within_seconds
        while self.status in ("building", "pulling"):
            if time.monotonic() > until:
                raise WaitTimeout(f"The image {self.id} is {self.status} after {within_seconds:g} s.")
            await asyncio.sleep(_LOOK_EVERY_SECONDS)
            await self.refresh()
        if self.status != "ready":
            reason = self.record.status_reason
            why = "" if reason is None else f" ({reason.code}: {reason.message})"
            raise WaitTimeout(f"The image {self.id} is {self.status}{why}, and will not be ready.")
        return self

    async def delete(self) -> None:
        """Permanently. Fails with ImageInUse while a Sandbox or a snapshot has it."""
        await self._api.delete_image(self.id, attempt_seconds=45)

    async def transitions(self) -> AsyncIterator[Transition]:
        """Its transitions, oldest first; requests the next page by itself."""
        ask = self._api.list_image_transitions
        async for page in paged(lambda cursor: ask(self.id, cursor=cursor)):
            for transition in page.transitions:
                yield transition


class AsyncImages:
    def __init__(self, api: AsyncApi, workspaces: AsyncWorkspaces) -> None:
        self._api = api
        self._workspaces = workspaces

    async def pull(
        self,
        reference: str,
        *,
        name: Optional[str] = None,
        username: Optional[str] = None,
        password: Optional[str] = None,
        until_ready: bool = True,
        within_seconds: float = 600,
        idempotency_key: Optional[str] = None,
    ) -> AsyncImage:
        """Pulls one, and waits until it is ready.

        reference: registry, repository, and a tag or a digest, such as docker.io/library/alpine:3.22.
        username, password: for the registry; the password may be an access token. It is stored sealed.
        until_ready: False returns an image that a host may still be pulling.
        within_seconds: how long to wait until it is ready; then it fails with WaitTimeout.
        idempotency_key: names this pull: the same key returns the same image, also from another process. By default a new key.
        """
        answer = await self._api.pull_image(
            reference=reference,
            idempotency_key=idempotency_key or random_key(),
            name=unless_none(name),
            username=unless_none(username),
            password=unless_none(password),
        )
        image = AsyncImage(self._api, answer.image)
        return await image.until_ready(within_seconds=within_seconds) if until_ready else image

    async def upload(
        self,
        path: Union[str, PathLike[str]],
        *,
        name: Optional[str] = None,
        until_ready: bool = True,
        within_seconds: float = 600,
        idempotency_key: Optional[str] = None,
    ) -> AsyncImage:
        """Makes one of a file that `docker save` has written, or of another OCI image layout in a tar, and waits until it is ready.

        until_ready: False returns an image that a host may still be unpacking.
        within_seconds: how long to wait until it is ready; then it fails with WaitTimeout.
        idempotency_key: names this upload: the same key and file return the same image. By default a new key.
        """
        local = fspath(path)

        def body() -> AsyncPieces:
            return AsyncPieces(file_pieces(local))

        answer = await self._api.upload_image(
            name=name,
            content=body,
            idempotency_key=idempotency_key or random_key(),
            attempt_seconds=_UPLOAD_SECONDS,
        )
        image = AsyncImage(self._api, answer.image)
        return await image.until_ready(within_seconds=within_seconds) if until_ready else image

    async def build(
        self,
        context: Union[str, PathLike[str], None] = None,
        *,
        dockerfile: Optional[str] = None,
        snapshot: Union[AsyncSnapshot, str, None] = None,
        name: Optional[str] = None,
        target: Optional[str] = None,
        build_args: Optional[Mapping[str, str]] = None,
        workspace_id: Optional[str] = None,
        profile: Optional[Profile] = None,
        registry: Optional[str] = None,
        username: Optional[str] = None,
        password: Optional[str] = None,
        on_output: Optional[Callable[[OutputChunk], object]] = None,
        until_ready: bool = True,
        within_seconds: float = _BUILD_SECONDS,
        idempotency_key: Optional[str] = None,
    ) -> AsyncImage:
        """Builds one of a Dockerfile, and waits until it is ready. Fails with WaitTimeout, and with the reason, where the build fails.

        context: a directory of this machine, which is sent whole; the build skips what its .dockerignore names. By default the context
        is that of the snapshot, or empty.
        dockerfile: with context the path of the Dockerfile in it, by default `Dockerfile`; without it the text of one.
        snapshot: one whose /workspace is the context, or its id; not with context.
        target: the stage to build. By default the last one.
        build_args: values of the Dockerfile's ARG, by name. They are no secrets.
        workspace_id: where the build's Sandbox is. By default that of the snapshot, or the account's first one,
            which is made if there is none.
        profile: the sizes of the build's Sandbox; not with context.
        registry, username, password: for private base images; not with context.
        on_output: called with the build's output as it is written, if it waits until the image is ready.
        until_ready: False returns an image that may still be being built.
        within_seconds: how long to wait until it is ready, with on_output from the end of the build's output on.
        idempotency_key: names this build: the same key and request return the same image. By default a new key.
        """
        key = idempotency_key or random_key()
        if context is None:
            if dockerfile is None:
                raise ValueError("A build needs a context, or the text of a Dockerfile.")
            if workspace_id is None and snapshot is None:
                workspace_id = (await self._workspaces.first()).id
            answer = await self._api.pull_image(
                dockerfile=dockerfile,
                context_snapshot_id=unless_none(snapshot.id if isinstance(snapshot, AsyncSnapshot) else snapshot),
                name=unless_none(name),
                target=unless_none(target),
                build_args=unless_none(None if build_args is None else dict(build_args)),
                workspace_id=unless_none(workspace_id),
                profile=unless_none(profile),
                registry=unless_none(registry),
                username=unless_none(username),
                password=unless_none(password),
                idempotency_key=key,
            )
        else:
            if any(one is not None for one in (snapshot, profile, registry, username, password)):
                raise ValueError(
                    "snapshot, profile, registry, username and password are for a build without context: "
                    "send the text of the Dockerfile."
                )
            local = fspath(context)
            # One that is missing, or no directory, is not asked for.
            scandir(local).close()
            own = workspace_id or (await self._workspaces.first()).id

            def body() -> AsyncPieces:
                return AsyncPieces(packed_directory(local))

            answer = await self._api.build_image(
                content=body,
                name=name,
                dockerfile=dockerfile,
                target=target,
                build_arg=[f"{arg}={value}" for arg, value in (build_args or {}).items()],
                workspace_id=own,
                idempotency_key=key,
                attempt_seconds=_UPLOAD_SECONDS,
            )
        image = AsyncImage(self._api, answer.image)
        if not until_ready:
            return image
        if on_output is not None:
            async for chunk in image.build_output():
                on_output(chunk)
        return await image.until_ready(within_seconds=within_seconds)

    async def get(self, id: str) -> AsyncImage:
        return AsyncImage(self._api, (await self._api.get_image(id)).image)

    async def list(
        self, *, name: Optional[str] = None, status: Optional[Sequence[ImageStatus]] = None
    ) -> AsyncIterator[AsyncImage]:
        """Newest first, deleted ones included unless `status` says otherwise; requests the next page by itself.

        name: only those with exactly this name.
        """
        states = None if status is None else [*status]
        ask = self._api.list_images
        async for page in paged(lambda cursor: ask(name=name, status=states, cursor=cursor)):
            for record in page.images:
                yield AsyncImage(self._api, record)

    async def delete(self, id: str) -> None:
        """Permanently. Fails with ImageInUse while a Sandbox or a snapshot has it."""
        await self._api.delete_image(id, attempt_seconds=45)
