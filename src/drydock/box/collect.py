"""Takes files out of a box's folder without ever believing a name, a link or a size in it.

Every step is openat2 below an open folder, with no link and no mount crossed, so nothing the tenant left can lead
outside; only regular files are opened, without blocking, and what is read is bounded by us, not by their size.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

SkipReason = Literal["symlink", "not_a_file", "bad_name", "limit", "unreadable"]

_OPENAT2 = 437  # the same number on every architecture, as all system calls since Linux 5.1
_RESOLVE = 0x01 | 0x02 | 0x04 | 0x08  # NO_XDEV, NO_MAGICLINKS, NO_SYMLINKS, BENEATH
_AT_ONCE = 1 << 20
_libc = ctypes.CDLL(None, use_errno=True)


class _OpenHow(ctypes.Structure):
    _fields_ = [("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64)]


@dataclass(frozen=True, slots=True)
class Bounds:
    total_bytes: int = 50 << 20
    files: int = 1000
    depth: int = 64
    skipped: int = 1000
    """Names that are listed as left out; a program may leave a million."""


@dataclass(slots=True)
class Collected:
    files: dict[str, bytes] = field(default_factory=dict)
    skipped: list[tuple[str, SkipReason]] = field(default_factory=list)


def open_beneath(folder: int, path: str, flags: int) -> int:
    """Open `path` below `folder`, following nothing. OSError(ELOOP) where a link stands in the way."""
    # The kernel refuses O_NONBLOCK beside O_PATH, which opens nothing that could block.
    careful = os.O_CLOEXEC | os.O_NOFOLLOW | (0 if flags & os.O_PATH else os.O_NONBLOCK)
    how = _OpenHow(flags | careful, 0, _RESOLVE)
    fd: int = _libc.syscall(
        ctypes.c_long(_OPENAT2), ctypes.c_int(folder), os.fsencode(path), ctypes.byref(how), ctypes.c_size_t(24)
    )
    if fd < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return fd


def is_empty(root: int, path: str) -> bool:
    """Nothing to collect there: the ordinary case, told in three system calls."""
    try:
        folder = open_beneath(root, path, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as wrong:
        return wrong.errno == errno.ENOENT
    try:
        with os.scandir(folder) as entries:
            return next(entries, None) is None
    except OSError:
        return False
    finally:
        os.close(folder)


def collect(
    root: int, path: str, bounds: Bounds = Bounds(), wanted: Callable[[str], bool] = lambda name: True
) -> Collected:
    """Every regular file below `path`, names relative to it and sorted, so that a cut is repeatable."""
    found = Collected()
    try:
        top = open_beneath(root, path, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as wrong:
        if wrong.errno != errno.ENOENT:
            found.skipped.append((path.rpartition("/")[2], "symlink" if _is_link(root, path) else _why(wrong)))
        return found
    _Walk(bounds, wanted, found).folder(top, "", 0)
    return found


class _Walk:
    def __init__(self, bounds: Bounds, wanted: Callable[[str], bool], found: Collected) -> None:
        self._bounds, self._wanted, self._found = bounds, wanted, found
        self._bytes = 0

    def folder(self, fd: int, prefix: str, depth: int) -> None:
        """Closes `fd`. Recursion is as deep as `Bounds.depth`, never as deep as the tenant's tree."""
        try:
            names = sorted(os.listdir(fd))
        except OSError as wrong:
            self._skip(prefix.rstrip("/"), _why(wrong))
            os.close(fd)
            return
        try:
            for name in names:
                self._entry(fd, name, prefix + name, depth)
        finally:
            os.close(fd)

    def _entry(self, folder: int, name: str, path: str, depth: int) -> None:
        try:
            path.encode()
        except UnicodeEncodeError:
            self._skip(path.encode("utf-8", "surrogateescape").decode("utf-8", "replace"), "bad_name")
            return
        try:
            kind = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
            if stat.S_ISDIR(kind):
                if depth + 1 >= self._bounds.depth:
                    self._skip(path, "limit")
                else:
                    self.folder(open_beneath(folder, name, os.O_RDONLY | os.O_DIRECTORY), path + "/", depth + 1)
            elif stat.S_ISLNK(kind):
                self._skip(path, "symlink")
            elif not stat.S_ISREG(kind):
                self._skip(path, "not_a_file")
            elif self._wanted(path):
                self._file(folder, name, path)
        except OSError as wrong:
            self._skip(path, _why(wrong))

    def _file(self, folder: int, name: str, path: str) -> None:
        room = self._bounds.total_bytes - self._bytes
        if len(self._found.files) >= self._bounds.files:
            self._skip(path, "limit")
            return
        fd = open_beneath(folder, name, os.O_RDONLY)
        try:
            about = os.fstat(fd)
            if not stat.S_ISREG(about.st_mode):
                self._skip(path, "not_a_file")
                return
            data = _read(fd, room + 1) if about.st_size <= room else None
        finally:
            os.close(fd)
        if data is None or len(data) > room:
            self._skip(path, "limit")
            return
        self._bytes += len(data)
        self._found.files[path] = data

    def _skip(self, path: str, reason: SkipReason) -> None:
        if len(self._found.skipped) < self._bounds.skipped:
            self._found.skipped.append((path, reason))


def _read(fd: int, most: int) -> bytes:
    parts, left = [], most
    while left > 0:
        part = os.read(fd, min(left, _AT_ONCE))
        if not part:
            break
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def _is_link(root: int, path: str) -> bool:
    """For a link at the path's very end: of a link that should be a folder the kernel only says ENOTDIR."""
    try:
        fd = open_beneath(root, path, os.O_PATH)
    except OSError:
        return False
    try:
        return stat.S_ISLNK(os.fstat(fd).st_mode)
    finally:
        os.close(fd)


def _why(wrong: OSError) -> SkipReason:
    if wrong.errno in (errno.ELOOP, errno.EXDEV):
        return "symlink"
    return "not_a_file" if wrong.errno in (errno.ENOTDIR, errno.ENXIO) else "unreadable"
