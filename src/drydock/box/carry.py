"""Copies a tree out of a box into a new folder of ours; one entry that is no plain file, and all of it is refused.

The tree is read as the collector reads (see collect.py): openat2 below an open folder, nothing followed. It is written
under modes of our own, below a folder that no tenant has ever seen.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path

from drydock.box.collect import open_beneath

_AT_ONCE = 1 << 20
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY
_SET_ID = stat.S_ISUID | stat.S_ISGID


class Foreign(Exception):
    """An entry that is not taken, by its path in the tree, and why."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(f"{path!r} {why}")
        self.path, self.why = path, why


@dataclass(frozen=True, slots=True)
class Load:
    """How much may be carried, and what is left behind without a word."""

    total_bytes: int
    files: int = 500_000
    depth: int = 64
    skip: Container[str] = ()
    """Names, at any depth, of entries that are not looked at."""


@dataclass(slots=True)
class Carried:
    total_bytes: int = 0
    files: int = 0


def carry(root: int, path: str, target: Path, load: Load) -> Carried:
    """Copy what is below `path` of the open folder `root` into `target`, which is made. Foreign leaves part of it."""
    source = open_beneath(root, path, _FOLDER)
    try:
        target.mkdir(mode=0o755)
        target.chmod(0o755)
        into = os.open(target, _FOLDER | os.O_CLOEXEC)
    except OSError:
        os.close(source)
        raise
    copy = _Copy(load)
    copy.folder(source, into, "", 0)
    return copy.done


class _Copy:
    def __init__(self, load: Load) -> None:
        self._load = load
        self.done = Carried()

    def folder(self, source: int, into: int, prefix: str, depth: int) -> None:
        """Closes both. Recursion is as deep as `Load.depth`, never as deep as the tenant's tree."""
        try:
            if depth >= self._load.depth:
                raise Foreign(prefix, f"is more than {self._load.depth} folders deep")
            for name in sorted(os.listdir(source)):
                if name not in self._load.skip:
                    self._entry(source, into, name, prefix + name, depth)
        finally:
            os.close(source)
            os.close(into)

    def _entry(self, source: int, into: int, name: str, path: str, depth: int) -> None:
        if not name.isprintable():  # what is not UTF-8 shows as surrogates, which are not
            raise Foreign(path.encode("utf-8", "surrogateescape").decode("utf-8", "replace"), "has no printable name")
        self.done.files += 1
        if self.done.files > self._load.files:
            raise Foreign(path, f"is one more than the {self._load.files} files that a layer may hold")
        kind = os.stat(name, dir_fd=source, follow_symlinks=False).st_mode
        if stat.S_ISLNK(kind):
            raise Foreign(path, "is a symbolic link")
        if kind & _SET_ID:
            raise Foreign(path, "is set-uid or set-gid")
        if stat.S_ISDIR(kind):
            os.mkdir(name, 0o755, dir_fd=into)
            below = open_beneath(source, name, _FOLDER)
            self.folder(
                below, os.open(name, _FOLDER | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=into), path + "/", depth + 1
            )
        elif stat.S_ISREG(kind):
            self._file(source, into, name, path)
        else:
            raise Foreign(path, "is neither file nor folder")

    def _file(self, source: int, into: int, name: str, path: str) -> None:
        read = open_beneath(source, name, os.O_RDONLY)
        try:
            about = os.fstat(read)
            if not stat.S_ISREG(about.st_mode) or about.st_mode & _SET_ID:
                raise Foreign(path, "changed while it was read")
            write = os.open(name, _WRITE, 0o555 if about.st_mode & 0o111 else 0o444, dir_fd=into)
            try:
                self._bytes(read, write, path)
            finally:
                os.close(write)
        finally:
            os.close(read)

    def _bytes(self, read: int, write: int, path: str) -> None:
        while part := os.read(read, _AT_ONCE):
            self.done.total_bytes += len(part)
            if self.done.total_bytes > self._load.total_bytes:
                raise Foreign(path, f"is beyond the {self._load.total_bytes} bytes that a layer may hold")
            view = memoryview(part)
            while view:
                view = view[os.write(write, view) :]
