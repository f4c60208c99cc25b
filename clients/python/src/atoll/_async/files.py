"""The files of a Sandbox, below /workspace. Relative paths begin there."""

from __future__ import annotations

import hashlib
from typing import AsyncGenerator, AsyncIterator, Optional, Union

from .._paths import WORKSPACE, absolute
from ..schemas import EditFileResponse, FileStat, FileStatResponse
from ..service_errors import CursorStaleError, NotFoundError
from .api import AsyncApi
from .paged import paged

_CHANGED_TIMES_MAX = 5
"""As it was begun to be read is no longer there, so often."""


class AsyncFiles:
    def __init__(self, api: AsyncApi, sandbox_id: str) -> None:
        self._api = api
        self._id = sandbox_id

    async def chunks(self, path: str) -> AsyncGenerator[bytes, None]:
        """The bytes of a file in pieces of at most 8 MiB, all of one content: a file that changes meanwhile fails with CursorStaleError."""
        cursor: Optional[str] = None
        while True:
            piece = await self._api.read_file(self._id, path=absolute(path), cursor=cursor)
            if piece.data:
                yield piece.data
            cursor = piece.headers.get("x-service-next-cursor")
            if cursor is None or piece.headers.get("x-service-eof") == "true":
                return

    async def read_bytes(self, path: str) -> bytes:
        """A whole file, however large. One that changes while it is read is read anew."""
        attempt = 1
        while True:
            try:
                return b"".join([chunk async for chunk in self.chunks(path)])
            except CursorStaleError:
                if attempt == _CHANGED_TIMES_MAX:
                    raise
            attempt += 1

    async def read(self, path: str) -> str:
        """The same as UTF-8 text; what is none shows as U+FFFD."""
        return (await self.read_bytes(path)).decode("utf-8", "replace")

    async def write(self, path: str, content: Union[str, bytes]) -> None:
        """Creates or replaces a file at once: a reader sees the old or the new content. At most 8 MiB; its directory must exist."""
        data = content.encode() if isinstance(content, str) else bytes(content)
        await self._api.write_file(self._id, path=absolute(path), content=data)

    async def edit(
        self,
        path: str,
        *,
        old_text: str,
        new_text: str,
        replace_all: bool = False,
        expected_sha256: Optional[str] = None,
    ) -> EditFileResponse:
        """Replaces text in a file that is what you think it is. Fails with PreconditionFailedError, TextNotFoundError or, unless
        replace_all, TextAmbiguousError.

        expected_sha256: of the whole file; by default of what is found there now.
        """
        return await self._api.edit_file(
            self._id,
            path=absolute(path),
            expected_sha256=expected_sha256 or await self.sha256(path),
            old_text=old_text,
            new_text=new_text,
            replace_all=replace_all,
        )

    async def sha256(self, path: str) -> str:
        """Of a file as it is now, in hexadecimal."""
        return hashlib.sha256(await self.read_bytes(path)).hexdigest()

    async def list(self, path: str = WORKSPACE) -> AsyncIterator[FileStat]:
        """What is in a directory, in the file system's own order; asks for the next page by itself."""
        ask = self._api.list_files
        async for page in paged(lambda cursor: ask(self._id, path=absolute(path), cursor=cursor)):
            for entry in page.entries:
                yield entry

    async def stat(self, path: str) -> FileStatResponse:
        """Of the entry itself: a symbolic link is not followed."""
        return await self._api.stat_file(self._id, path=absolute(path))

    async def exists(self, path: str) -> bool:
        try:
            await self.stat(path)
        except NotFoundError:
            return False
        return True

    async def mkdir(self, path: str, *, recursive: bool = False) -> None:
        """recursive: missing parents, too, and content with a directory that is there."""
        await self._api.create_directory(self._id, path=absolute(path), recursive=recursive)

    async def rename(self, path: str, destination: str, *, overwrite: bool = False) -> None:
        """Fails with DestinationExistsError unless overwrite. After a ConnectionError look at both paths."""
        await self._api.rename_file(
            self._id, path=absolute(path), destination=absolute(destination), overwrite=overwrite
        )

    async def remove(self, path: str, *, recursive: bool = False) -> None:
        """recursive: a directory with all that is in it."""
        await self._api.remove_file(self._id, path=absolute(path), recursive=recursive)
