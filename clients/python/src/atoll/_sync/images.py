# Made by `npm run clients` from _async/images.py. Not to be edited.
"""Images of an account: root file systems for Sandboxes, pulled from registries or uploaded."""

from __future__ import annotations

import time
from os import PathLike, fspath
from typing import Iterator, Optional, Sequence, Union

from .._blocking import Pieces
from .._file_pieces import file_pieces
from .._given import unless_none
from .._random_key import random_key
from ..errors import WaitTimeout
from ..schemas import Image as ImageRecord
from ..schemas import ImageStatus, Transition
from .api import Api
from .paged import paged

_LOOK_EVERY_SECONDS = 0.2
_UPLOAD_SECONDS = 300.0
"""The service answers once the whole archive is on the disk."""


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

    def until_ready(self, *, within_seconds: float = 600) -> Image:
        """Waits while a host pulls or unpacks it. Fails with WaitTimeout, and with its status if it will not be ready."""
        until = time.monotonic() + within_seconds
        while self.status == "pulling":
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
    def __init__(self, api: Api) -> None:
        self._api = api

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
