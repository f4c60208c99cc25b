"""A tar archive that nobody vouches for, on this machine: nothing is written outside of its directory, whatever its names and links say.

`tarfile` reads the archive. `TarFile.extractall(filter="data")` itself does not serve. Tried with Python 3.11: a truncated archive leaves a cut
file in the place of the old one; one refused entry ends the whole; and a file that has a second name is written in place, so that its other
name changes. It also goes through symbolic links that are there, and is missing in Pythons before 3.9.17. What its filter refuses is left out
here, too.
"""

from __future__ import annotations

import functools
import os
import shutil
import stat
import tarfile
import uuid
from dataclasses import dataclass, field
from typing import IO, Callable, List, Optional, Tuple


@dataclass
class Downloaded:
    """What came to this machine."""

    entries: int = 0
    """Files, directories and links."""
    bytes: int = 0
    """Content of the files among them."""
    left_out: List[str] = field(default_factory=list)
    """Names, as the archive has them, of what would lead out of the directory, would replace something of another kind, or is no file,
    directory or link."""


def append(path: str, content: bytes) -> None:
    with open(path, "ab") as file:
        file.write(content)


def put(path: str, mode: int, destination: str) -> None:
    """A file in its place."""
    append(path, b"")
    os.chmod(path, mode & 0o777)
    os.replace(path, destination)


def unpack(archive: IO[bytes], destination: str) -> Downloaded:
    """Each file whole or not at all; one that is there is replaced. What else is in the directory stays."""
    os.makedirs(destination, exist_ok=True)
    root = os.path.realpath(destination)
    done = Downloaded()
    directories: List[Tuple[str, tarfile.TarInfo]] = []
    try:
        with tarfile.open(fileobj=archive, mode="r:") as tar:
            for info in tar:
                parts = _parts(info.name)
                if parts == []:
                    continue
                target = None if parts is None else _below(root, parts)
                if target is None or not _put(tar, info, root, parts or [], target):
                    done.left_out.append(info.name)
                    continue
                done.entries += 1
                done.bytes += info.size if info.isreg() else 0
                if info.isdir():
                    directories.append((target, info))
    finally:
        # A directory's time changes with what is put into it, and its permissions may forbid that.
        for path, info in reversed(directories):
            os.utime(path, (info.mtime, info.mtime))
            os.chmod(path, info.mode & 0o777)
    return done


def _parts(name: str) -> Optional[List[str]]:
    """None: it leads out. Empty: the directory itself."""
    parts = [part for part in name.split("/") if part not in ("", ".")]
    # Windows has more of them.
    has_separator = any(os.sep in part or ":" in part for part in parts) if os.sep != "/" else False
    return None if ".." in parts or name.startswith("/") or has_separator else parts


def _below(root: str, parts: List[str]) -> Optional[str]:
    """Where it goes; its directories are made. None: there is something else than a directory in between."""
    folder = root
    for part in parts[:-1]:
        folder = os.path.join(folder, part)
        found = _kind(folder)
        if found is None:
            os.mkdir(folder)
        elif not stat.S_ISDIR(found):
            return None
    return os.path.join(folder, parts[-1])


def _kind(path: str) -> Optional[int]:
    """Its mode; a link is not followed. None: nothing is there."""
    try:
        return os.lstat(path).st_mode
    except FileNotFoundError:
        return None


def _put(tar: tarfile.TarFile, info: tarfile.TarInfo, root: str, parts: List[str], target: str) -> bool:
    """False: it is left out."""
    found = _kind(target)
    is_directory = found is not None and stat.S_ISDIR(found)
    if info.isdir():
        if found is None:
            os.mkdir(target)
        elif is_directory and found & stat.S_IRWXU != stat.S_IRWXU:
            # Its owner may work in it until all is done.
            os.chmod(target, stat.S_IMODE(found) | stat.S_IRWXU)
        return found is None or is_directory
    if is_directory:
        return False
    if info.isreg():
        return _put_file(tar, info, target)
    if info.issym():
        return _stays_below(parts[:-1], info.linkname) and _replace(target, lambda new: os.symlink(info.linkname, new))
    if not info.islnk():
        return False
    source = _hard_linked(root, info.linkname)
    if source is None:
        return False
    return _replace(target, functools.partial(_link_or_copy, source))


def _put_file(tar: tarfile.TarFile, info: tarfile.TarInfo, target: str) -> bool:
    def write(new: str) -> None:
        content = tar.extractfile(info)
        if content is None:
            raise tarfile.ReadError(f"{info.name} has no content.")
        with open(new, "xb") as file:
            shutil.copyfileobj(content, file)
        os.utime(new, (info.mtime, info.mtime))
        os.chmod(new, info.mode & 0o777)

    return _replace(target, write)


def _replace(target: str, make: Callable[[str], object]) -> bool:
    """At once: a reader sees the old or the new one."""
    new = os.path.join(os.path.dirname(target), f".atoll-{uuid.uuid4().hex}")
    try:
        make(new)
        os.replace(new, target)
    finally:
        # It is still there, too, where both are the same file already.
        if os.path.lexists(new):
            os.unlink(new)
    return True


def _stays_below(folder: List[str], link: str) -> bool:
    """Whether a symbolic link in that folder, which is no link itself, ends below the root. Only at its beginning may it go up: what
    `..` means behind a name depends on whether that is a link."""
    if os.path.isabs(link) or "\\" in link:
        return False
    names = [part for part in link.split("/") if part not in ("", ".")]
    up = next((at for at, part in enumerate(names) if part != ".."), len(names))
    return up <= len(folder) and ".." not in names[up:]


def _hard_linked(root: str, name: str) -> Optional[str]:
    """The file that is there already, if it is one, and no link leads to it."""
    parts = _parts(name)
    if not parts:
        return None
    for count in range(1, len(parts)):
        found = _kind(os.path.join(root, *parts[:count]))
        if found is None or not stat.S_ISDIR(found):
            return None
    path = os.path.join(root, *parts)
    found = _kind(path)
    return path if found is not None and stat.S_ISREG(found) else None


def _link_or_copy(source: str, new: str) -> None:
    try:
        os.link(source, new)
    except OSError:
        # Not every file system has them.
        shutil.copy2(source, new)
