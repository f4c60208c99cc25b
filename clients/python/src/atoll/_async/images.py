"""Images of an account: root file systems for Sandboxes, pulled from registries or uploaded."""

from __future__ import annotations

import asyncio
import time
from os import PathLike, fspath
from typing import AsyncIterator, Optional, Sequence, Union

from .._blocking import AsyncPieces
from .._file_pieces import file_pieces
from .._given import unless_none
from .._random_key import random_key
from ..errors import WaitTimeout
from ..schemas import Image as ImageRecord
from ..schemas import ImageStatus, Transition
from .api import AsyncApi
from .paged import paged

_LOOK_EVERY_SECONDS = 0.2
_UPLOAD_SECONDS = 300.0
"""The service answers once the whole archive is on the disk."""


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

    async def until_ready(self, *, within_seconds: float = 600) -> AsyncImage:
        """Waits while a host pulls or unpacks it. Fails with WaitTimeout, and with its status if it will not be ready."""
        until = time.monotonic() + within_seconds
        while self.status == "pulling":
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
    def __init__(self, api: AsyncApi) -> None:
        self._api = api

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
