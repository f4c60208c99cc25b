# Made by `npm run clients` from _async/files.py. Not to be edited.
"""The files of a Sandbox, below /workspace. Relative paths begin there."""

from __future__ import annotations

import hashlib
import io
import posixpath
import tempfile
import uuid
from os import PathLike, fspath, remove, stat
from os.path import exists, isdir
from typing import Callable, Generator, IO, Iterator, Iterator, Optional, Union

import httpx

from .._blocking import Blocking, Pieces
from .._pack import Count, Progress, counted, packed_bytes, packed_directory, packed_file
from .._paths import WORKSPACE, absolute
from .._unpack import Downloaded, append, put, unpack
from ..errors import ConnectionError
from ..schemas import EditFileResponse, FileStat, FileStatResponse, UnpackedArchive
from ..service_errors import CursorStaleError, IsADirectoryError, NotFoundError
from .api import Api
from .paged import paged

_CHANGED_TIMES_MAX = 5
"""How often a read starts over because the file has changed."""

_CUT_TIMES_MAX = 5
"""How often an archive is requested again after a cut connection."""
_WRITE_MAX_BYTES = 8 * 1024 * 1024
"""Larger content goes as an archive of one file."""
_ARCHIVE_SECONDS = 300.0
"""The service answers once all files are on the disk."""
_NEW_MODE = 0o644


class Files:
    def __init__(self, api: Api, sandbox_id: str) -> None:
        self._api = api
        self._id = sandbox_id

    def chunks(self, path: str, *, from_: int = 0) -> Generator[bytes, None, None]:
        """The bytes of a file in pieces of at most 8 MiB, all of one content: a file that changes meanwhile fails with CursorStaleError.

        from_: absolute byte offset to begin at.
        """
        cursor: Optional[str] = None
        while True:
            offset = from_ if cursor is None else None
            piece = self._api.read_file(self._id, path=absolute(path), offset=offset, cursor=cursor)
            if piece.data:
                yield piece.data
            cursor = piece.headers.get("x-service-next-cursor")
            if cursor is None or piece.headers.get("x-service-eof") == "true":
                return

    def read_bytes(self, path: str) -> bytes:
        """A whole file of any size. One that changes during the read is read again."""
        attempt = 1
        while True:
            try:
                # Its value is not copied, so no more than the file is in memory.
                whole = io.BytesIO()
                for chunk in self.chunks(path):
                    whole.write(chunk)
                return whole.getvalue()
            except CursorStaleError:
                if attempt == _CHANGED_TIMES_MAX:
                    raise
            attempt += 1

    def read_text(self, path: str) -> str:
        """A whole file as UTF-8 text; a byte that is none shows as U+FFFD."""
        return self.read_bytes(path).decode("utf-8", "replace")

    def read(self, path: str) -> str:
        """The same as `read_text`, by the name that other Sandbox libraries have."""
        return self.read_text(path)

    def write(self, path: str, content: Union[str, bytes]) -> None:
        """Creates or replaces a file of any size in one step: a reader sees the old or the new content. Its directory must exist."""
        # bytes() of a number would make so many zeros.
        data = content.encode() if isinstance(content, str) else bytes(memoryview(content))
        if len(data) <= _WRITE_MAX_BYTES:
            self._api.write_file(self._id, path=absolute(path), content=data)
            return
        folder, name = posixpath.split(absolute(path))
        self.stat(folder)
        mode = self._mode(path)
        self._upload(lambda: packed_bytes(data, name, mode), folder, None)

    def upload(self, source: Union[str, PathLike[str]], path: str, *, on_progress: Progress = None) -> UnpackedArchive:
        """Uploads a file or a whole directory of any size; permissions, times and links are kept, and missing parents are made.

        Each file is replaced whole. Other entries of an existing directory stay. After a ConnectionError some files
        may have arrived: a repetition does no harm. Fails with ArchiveIncompleteError if the service could not go on.

        source: a directory's content goes into `path`; a file becomes `path`.
        on_progress: called with the number of bytes sent so far.
        """
        local = fspath(source)
        if isdir(local):
            return self._upload(lambda: packed_directory(local), absolute(path), on_progress)
        # A missing local source makes no directories there.
        stat(local)
        folder, name = posixpath.split(absolute(path))
        return self._upload(lambda: packed_file(local, name), folder, on_progress)

    def download(
        self, path: str, destination: Union[str, PathLike[str]], *, on_progress: Progress = None
    ) -> Downloaded:
        """Downloads a file or a whole directory of any size; permissions are kept, and for a directory's content times and links.

        Everything is on this machine before the first file is put in its place, each in one step. Entries that would lead out of
        `destination`, by a link or by their name, are skipped, and listed in the result.

        destination: a directory's content goes into it, and it is made if it is missing; a file becomes this.
        on_progress: called with the number of bytes received so far.
        """
        local = fspath(destination)
        try:
            return self._download_file(path, local, on_progress)
        except IsADirectoryError:
            return self._download_directory(path, local, on_progress)

    def edit(
        self,
        path: str,
        *,
        old_text: str,
        new_text: str,
        replace_all: bool = False,
        expected_sha256: Optional[str] = None,
    ) -> EditFileResponse:
        """Replaces text in a file with the expected content. Fails with PreconditionFailedError, TextNotFoundError or, unless
        replace_all, TextAmbiguousError.

        expected_sha256: of the whole file; by default of the present content.
        """
        return self._api.edit_file(
            self._id,
            path=absolute(path),
            expected_sha256=expected_sha256 or self.sha256(path),
            old_text=old_text,
            new_text=new_text,
            replace_all=replace_all,
        )

    def sha256(self, path: str) -> str:
        """Of the present file, in hexadecimal."""
        return hashlib.sha256(self.read_bytes(path)).hexdigest()

    def list(self, path: str = WORKSPACE) -> Iterator[FileStat]:
        """The entries of a directory, in the file system's own order; requests the next page by itself."""
        ask = self._api.list_files
        for page in paged(lambda cursor: ask(self._id, path=absolute(path), cursor=cursor)):
            for entry in page.entries:
                yield entry

    def stat(self, path: str) -> FileStatResponse:
        """Of the entry itself: a symbolic link is not followed."""
        return self._api.stat_file(self._id, path=absolute(path))

    def exists(self, path: str) -> bool:
        try:
            self.stat(path)
        except NotFoundError:
            return False
        return True

    def mkdir(self, path: str, *, recursive: bool = False) -> None:
        """recursive: makes missing parents, too, and succeeds for an existing directory."""
        self._api.create_directory(self._id, path=absolute(path), recursive=recursive)

    def rename(self, path: str, destination: str, *, overwrite: bool = False) -> None:
        """Fails with DestinationExistsError unless overwrite. After a ConnectionError look at both paths."""
        self._api.rename_file(
            self._id, path=absolute(path), destination=absolute(destination), overwrite=overwrite
        )

    def remove(self, path: str, *, recursive: bool = False) -> None:
        """recursive: a directory with everything in it."""
        self._api.remove_file(self._id, path=absolute(path), recursive=recursive)

    def _mode(self, path: str) -> int:
        """Of the file that is replaced."""
        try:
            found = self.stat(path)
        except NotFoundError:
            return _NEW_MODE
        return int(found.mode, 8) if found.type == "file" else _NEW_MODE

    def _upload(self, packed: Callable[[], Iterator[bytes]], folder: str, progress: Progress) -> UnpackedArchive:
        def body() -> Pieces:
            return Pieces(counted(packed(), progress))

        return self._api.upload_archive(self._id, path=folder, content=body, attempt_seconds=_ARCHIVE_SECONDS)

    def _download_file(self, path: str, destination: str, progress: Progress) -> Downloaded:
        beside = f"{destination}.{uuid.uuid4().hex}"
        count = Count(progress)
        try:
            for chunk in self.chunks(path):
                Blocking.run(lambda: append(beside, chunk))
                count.add(chunk)
            mode = self._mode(path)
            Blocking.run(lambda: put(beside, mode, destination))
        finally:
            if exists(beside):
                remove(beside)
        return Downloaded(entries=1, bytes=count.total)

    def _download_directory(self, path: str, destination: str, progress: Progress) -> Downloaded:
        with tempfile.TemporaryFile() as archive:
            self._fetch(path, archive, progress)
            archive.seek(0)
            return Blocking.run(lambda: unpack(archive, destination))

    def _fetch(self, path: str, archive: IO[bytes], progress: Progress) -> None:
        """All of it, or a failure: an answer that ends early is requested again, a few times."""
        attempt = 1
        while True:
            archive.seek(0)
            archive.truncate()
            count = Count(progress)
            answer = self._api.open_download_archive(self._id, path=absolute(path))
            try:
                for piece in answer.iter_bytes():
                    archive.write(piece)
                    count.add(piece)
                return
            except httpx.RequestError as thrown:
                if attempt == _CUT_TIMES_MAX:
                    raise ConnectionError(f"The archive of {path} was cut off {attempt} times.", "notApplied") from thrown
            finally:
                answer.close()
            attempt += 1
