"""A tenant's folder, listed one level at a time, with nothing followed and nothing opened but folders."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from drydock.box.collect import open_beneath
from drydock.errors import RepositoryFailed
from drydock.forge.git.names import BadName, wrong_with

FOLDER = os.O_RDONLY | os.O_DIRECTORY
IGNORE_BYTES = 1 << 20
Kind = Literal["file", "link", "folder"]
Why = BadName | Literal["not_a_file", "unreadable", "too_large"]


@dataclass(frozen=True, slots=True)
class Entry:
    path: bytes
    kind: Kind
    executable: bool = False
    stamp: tuple[int, int, int, int] = (0, 0, 0, 0)
    """Inode, size, times of the last change of contents and of anything. The last one the kernel alone sets."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    path: str
    """As text for people: what is not UTF-8 shows as a replacement character."""
    why: Why


@dataclass(slots=True)
class Level:
    """What lies directly in some folders of the same depth."""

    entries: list[Entry]
    ignores: dict[bytes, bytes]
    """Path of each .gitignore among them, and what is in it."""
    left_out: list[LeftOut]

    @property
    def seen(self) -> int:
        return len(self.entries) + len(self.left_out)


def left_out(path: bytes, why: Why) -> LeftOut:
    return LeftOut(path[:400].decode("utf-8", "replace"), why)


@contextmanager
def opened(root: int, folder: str) -> Iterator[int]:
    """The repository's folder in the box. It is gone when the tenant has put something else in its place."""
    try:
        fd = open_beneath(root, folder, FOLDER)
    except OSError as wrong:
        raise RepositoryFailed(
            f"the repository's folder in the box is no folder any more ({os.strerror(wrong.errno or errno.EIO)})",
            hint="What was done before is in the last snapshot.",
        ) from None
    try:
        yield fd
    finally:
        os.close(fd)


def level(root: int, folder: str, paths: Sequence[bytes], tracked: Container[bytes], most: int) -> Level:
    """List these folders of the repository's. A path that is `tracked` keeps its name, odd or not. Stops beyond `most`
    names; whoever asks looks at how many there are."""
    found = Level([], {}, [])
    with opened(root, folder) as top:
        for path in paths:
            if found.seen > most:
                break
            try:
                _list(top, path, found, tracked, most)
            except OSError:  # removed, made a link or closed to us since it was listed
                found.left_out.append(left_out(path, "unreadable"))
    return found


def _list(top: int, path: bytes, found: Level, tracked: Container[bytes], most: int) -> None:
    fd = open_beneath(top, os.fsdecode(path) or ".", FOLDER)
    try:
        with os.scandir(fd) as names:
            for each in names:
                if found.seen > most:
                    return
                name = os.fsencode(each.name)
                whole = path + b"/" + name if path else name
                _add(fd, each.name, whole, found, tracked)
    finally:
        os.close(fd)


def _add(folder: int, name: str, path: bytes, found: Level, tracked: Container[bytes]) -> None:
    if name == ".git":
        return  # the tenant's own, which it may do with as it likes
    try:
        about = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return  # removed since it was listed
    link = stat.S_ISLNK(about.st_mode)
    why = wrong_with(path, link=link)
    if why is not None and path not in tracked:
        found.left_out.append(left_out(path, why))
        return
    stamp = (about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns)
    if stat.S_ISDIR(about.st_mode):
        found.entries.append(Entry(path, "folder"))
    elif link:
        found.entries.append(Entry(path, "link", False, stamp))
    elif stat.S_ISREG(about.st_mode):
        found.entries.append(Entry(path, "file", bool(about.st_mode & stat.S_IXUSR), stamp))
        if name == ".gitignore" and about.st_size <= IGNORE_BYTES:
            _read_ignores(folder, name, path, found)
    else:
        found.left_out.append(left_out(path, "not_a_file"))


def _read_ignores(folder: int, name: str, path: bytes, found: Level) -> None:
    try:
        fd = open_beneath(folder, name, os.O_RDONLY)
    except OSError:
        return  # then it is a file like any other
    try:
        found.ignores[path] = os.read(fd, IGNORE_BYTES)
    finally:
        os.close(fd)
