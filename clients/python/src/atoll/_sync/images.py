# Made by `npm run clients` from _async/images.py. Not to be edited.
"""Images of an account: root file systems for Sandboxes, pulled from registries, uploaded, or built."""

from __future__ import annotations

import time
from os import PathLike, fspath, scandir
from typing import Callable, Generator, Iterator, Mapping, Optional, Sequence, Union

from .._blocking import Pieces
from .._file_pieces import file_pieces
from .._given import unless_none
from .._pack import packed_directory
from .._random_key import random_key
from ..errors import WaitTimeout
from ..output_chunk import OutputChunk
from ..schemas import Image as ImageRecord
from ..schemas import ImageStatus, Profile, Transition
from .api import Api
from .output import follow_output
from .paged import paged
from .snapshots import Snapshot
from .workspaces import Workspaces

_LOOK_EVERY_SECONDS = 0.2
_UPLOAD_SECONDS = 300.0
"""The service answers once the whole archive is on the disk."""
_BUILD_SECONDS = 3600.0


class Image:
    id: str
    record: ImageRecord
    """As the service's last answer has it."""

    def __init__(self, api: Api, record: ImageRecord) -> None:
        self._api = api
        self.record = record
        self.id = record.id

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id} {self.status}>"

    @property
    def status(self) -> ImageStatus:
        """As the service's last answer has it."""
        return self.record.status

    def refresh(self) -> Image:
        self.record = self._api.get_image(self.id).image
        return self

    def build_output(self) -> Generator[OutputChunk, None, None]:
        """The output of its build from the beginning, until that is over. Yields nothing if it never began, or if it was not built."""
        while self.status == "building" and self.record.build is not None and self.record.build.operation_id is None:
            time.sleep(_LOOK_EVERY_SECONDS)
            self.refresh()
        build = self.record.build
        if build is None or build.operation_id is None:
            return
        told = follow_output(self._api, build.sandbox_id, build.operation_id, None)
        try:
            for one in told:
                if isinstance(one, OutputChunk):
                    yield one
        finally:
            told.close()

    def until_ready(self, *, within_seconds: float = 600) -> Image:
        """Waits while it is built, or a host pulls or unpacks it. Fails with WaitTimeout, and with its status if it will not be ready."""
        until = time.monotonic() + within_seconds
        while self.status in ("building", "pulling"):
            if time.monotonic() > until:
                raise WaitTimeout(f"The image {self.id} is {self.status} after {within_seconds:g} s.")
            time.sleep(_LOOK_EVERY_SECONDS)
            self.refresh()
        if self.status != "ready":
            reason = self.record.status_reason
            why = "" if reason is None else f" ({reason.code}: {reason.message})"
            raise WaitTimeout(f"The image {self.id} is {self.status}{why}, and will not be ready.")
        return self

    def delete(self) -> None:
        """Permanently. Fails with ImageInUse while a Sandbox or a snapshot has it."""
        self._api.delete_image(self.id, attempt_seconds=45)

    def transitions(self) -> Iterator[Transition]:
        """Its transitions, oldest first; requests the next page by itself."""
        ask = self._api.list_image_transitions
        for page in paged(lambda cursor: ask(self.id, cursor=cursor)):
            for transition in page.transitions:
                yield transition


class Images:
    def __init__(self, api: Api, workspaces: Workspaces) -> None:
        self._api = api
        self._workspaces = workspaces

    def pull(
        self,
        reference: str,
        *,
        name: Optional[str] = None,
        username: Optional[str] = None,
        password: Optional[str] = None,
        until_ready: bool = True,
        within_seconds: float = 600,
        idempotency_key: Optional[str] = None,
    ) -> Image:
        """Pulls one, and waits until it is ready.

        reference: registry, repository, and a tag or a digest, such as docker.io/library/alpine:3.22.
        username, password: for the registry; the password may be an access token. It is stored sealed.
        until_ready: False returns an image that a host may still be pulling.
        within_seconds: how long to wait until it is ready; then it fails with WaitTimeout.
        idempotency_key: names this pull: the same key returns the same image, also from another process. By default a new key.
        """
        answer = self._api.pull_image(
            reference=reference,
            idempotency_key=idempotency_key or random_key(),
            name=unless_none(name),
            username=unless_none(username),
            password=unless_none(password),
        )
        image = Image(self._api, answer.image)
        return image.until_ready(within_seconds=within_seconds) if until_ready else image

    def upload(
        self,
        path: Union[str, PathLike[str]],
        *,
        name: Optional[str] = None,
        until_ready: bool = True,
        within_seconds: float = 600,
        idempotency_key: Optional[str] = None,
    ) -> Image:
        """Makes one of a file that `docker save` has written, or of another OCI image layout in a tar, and waits until it is ready.

        until_ready: False returns an image that a host may still be unpacking.
        within_seconds: how long to wait until it is ready; then it fails with WaitTimeout.
        idempotency_key: names this upload: the same key and file return the same image. By default a new key.
        """
        local = fspath(path)

        def body() -> Pieces:
            return Pieces(file_pieces(local))

        answer = self._api.upload_image(
            name=name,
            content=body,
            idempotency_key=idempotency_key or random_key(),
            attempt_seconds=_UPLOAD_SECONDS,
        )
        image = Image(self._api, answer.image)
        return image.until_ready(within_seconds=within_seconds) if until_ready else image

    def build(
        self,
        context: Union[str, PathLike[str], None] = None,
        *,
        dockerfile: Optional[str] = None,
        snapshot: Union[Snapshot, str, None] = None,
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
    ) -> Image:
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
                workspace_id = self._workspaces.first().id
            answer = self._api.pull_image(
                dockerfile=dockerfile,
                context_snapshot_id=unless_none(snapshot.id if isinstance(snapshot, Snapshot) else snapshot),
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
            own = workspace_id or self._workspaces.first().id

            def body() -> Pieces:
                return Pieces(packed_directory(local))

            answer = self._api.build_image(
                content=body,
                name=name,
                dockerfile=dockerfile,
                target=target,
                build_arg=[f"{arg}={value}" for arg, value in (build_args or {}).items()],
                workspace_id=own,
                idempotency_key=key,
                attempt_seconds=_UPLOAD_SECONDS,
            )
        image = Image(self._api, answer.image)
        if not until_ready:
            return image
        if on_output is not None:
            for chunk in image.build_output():
                on_output(chunk)
        return image.until_ready(within_seconds=within_seconds)

    def get(self, id: str) -> Image:
        return Image(self._api, self._api.get_image(id).image)

    def list(
        self, *, name: Optional[str] = None, status: Optional[Sequence[ImageStatus]] = None
    ) -> Iterator[Image]:
        """Newest first, deleted ones included unless `status` says otherwise; requests the next page by itself.

        name: only those with exactly this name.
        """
        states = None if status is None else [*status]
        ask = self._api.list_images
        for page in paged(lambda cursor: ask(name=name, status=states, cursor=cursor)):
            for record in page.images:
                yield Image(self._api, record)

    def delete(self, id: str) -> None:
        """Permanently. Fails with ImageInUse while a Sandbox or a snapshot has it."""
        self._api.delete_image(id, attempt_seconds=45)
