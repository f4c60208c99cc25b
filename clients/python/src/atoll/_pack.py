"""Files and directories of this machine as a tar archive, made as it is read: however large they are, little is in memory.

`tarfile` finds the files and makes the headers. `TarFile.add` itself does not serve: it writes into a file object, and httpx takes the body
from an iterator, so that each upload would need a thread and a pipe.
"""

from __future__ import annotations

import io
import math
import os
import tarfile
from typing import Callable, Iterable, Iterator, Optional

_PIECE_BYTES = 256 * 1024
_END = b"\0" * 2 * tarfile.BLOCKSIZE

Progress = Optional[Callable[[int], object]]
"""Told how many bytes went over so far."""


def packed_directory(source: str) -> Iterator[bytes]:
    """All that is in it, by names relative to it, symbolic and hard links as such. What is neither file, directory nor link is left out."""
    return _batched(_of_directory(source))


def packed_file(source: str, name: str) -> Iterator[bytes]:
    """One file under that name; a symbolic link is followed."""
    return _batched(_of_file(source, name))


def packed_bytes(content: bytes, name: str, mode: int) -> Iterator[bytes]:
    """The same of what is in memory."""
    info = tarfile.TarInfo(name)
    info.size = len(content)
    info.mode = mode
    yield _header(info)
    view = memoryview(content)
    for at in range(0, len(content), _PIECE_BYTES):
        yield bytes(view[at : at + _PIECE_BYTES])
    yield _padding(info.size) + _END


class Count:
    """Of bytes that went over."""

    def __init__(self, progress: Progress) -> None:
        self.total = 0
        self._progress = progress

    def add(self, piece: bytes) -> None:
        self.total += len(piece)
        if self._progress is not None:
            self._progress(self.total)


def counted(pieces: Iterable[bytes], progress: Progress) -> Iterator[bytes]:
    """Each counts once the next one is asked for."""
    count = Count(progress)
    for piece in pieces:
        yield piece
        count.add(piece)


def _of_file(source: str, name: str) -> Iterator[bytes]:
    with _archive() as archive:
        yield from _entry(archive.gettarinfo(os.path.realpath(source), name), source)
    yield _END


def _of_directory(source: str) -> Iterator[bytes]:
    # It knows which files are the same one.
    with _archive() as archive:
        for folder, directories, files in os.walk(source, onerror=_fail):
            directories.sort()
            for name in [*directories, *sorted(files)]:
                path = os.path.join(folder, name)
                info = archive.gettarinfo(path, os.path.relpath(path, source))
                # None: a socket.
                if info is not None and (info.isreg() or info.isdir() or info.issym() or info.islnk()):
                    yield from _entry(info, path)
    yield _END


def _archive() -> tarfile.TarFile:
    return tarfile.TarFile(fileobj=io.BytesIO(), mode="w")


def _fail(error: OSError) -> None:
    raise error


def _entry(info: tarfile.TarInfo, path: str) -> Iterator[bytes]:
    yield _header(info)
    if not info.isreg():
        return
    left = info.size
    with open(path, "rb") as file:
        while left > 0:
            piece = file.read(min(left, _PIECE_BYTES))
            if not piece:
                raise OSError(f"{path} became shorter while it was read.")
            left -= len(piece)
            yield piece
    yield _padding(info.size)


def _header(info: tarfile.TarInfo) -> bytes:
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    info.mtime = math.floor(info.mtime)
    return info.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape")


def _padding(size: int) -> bytes:
    return b"\0" * (-size % tarfile.BLOCKSIZE)


def _batched(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Small ones together."""
    kept = bytearray()
    for piece in pieces:
        kept += piece
        if len(kept) >= _PIECE_BYTES:
            yield bytes(kept)
            kept.clear()
    if kept:
        yield bytes(kept)
