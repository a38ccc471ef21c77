"""What is in a tenant's files: hashed here, in a thread, and what git does not have yet handed to it through a pipe.

A file whose inode, size and times are as they were is not read again. The change time can be set by nobody but the
kernel; it moves in ticks of a few milliseconds, so a file that changed within the last ones is not yet trusted. A
program that writes through memory it has mapped may be seen a little late, which is why what is delivered is read anew.
"""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from drydock.box.collect import open_beneath
from drydock.forge.git.scan import Entry, LeftOut, left_out, opened

TICK_NS = 50_000_000
AT_ONCE = 1 << 20
Object = tuple[bytes, bytes]
"""Mode and hash, as an index has them."""


@dataclass(slots=True)
class Memory:
    """What was in one box's files when they were last read."""

    seen: dict[bytes, tuple[tuple[int, int, int, int], bytes]] = field(default_factory=dict)


@dataclass(slots=True)
class Taken:
    objects: dict[bytes, Object] = field(default_factory=dict)
    new: list[Entry] = field(default_factory=list)
    """Those whose contents git has not got."""
    left_out: list[LeftOut] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Known:
    """What git has already."""

    base: Mapping[bytes, Object]
    """By path, as the tenant got it."""
    blobs: set[bytes]


def hash_all(root: int, folder: str, entries: Sequence[Entry], known: Known, memory: Memory, most: int) -> Taken:
    """`memory` is renewed. A file over `most` bytes stays as the base has it, or is left out."""
    taken = Taken()
    old, memory.seen = memory.seen, {}
    settled = time.time_ns() - TICK_NS
    with opened(root, folder) as top:
        for entry in entries:
            before = old.get(entry.path)
            same = before is not None and before[0] == entry.stamp
            sha = before[1] if before is not None and same else _hash(top, entry, known, most)
            if sha is None or (sha not in known.blobs and entry.stamp[1] > most):
                _leave_out(entry, known, taken, most)
                continue
            if sha not in known.blobs:
                taken.new.append(entry)
            if entry.stamp[3] < settled:
                memory.seen[entry.path] = (entry.stamp, sha)
            taken.objects[entry.path] = (mode(entry), sha)
    return taken


def _hash(top: int, entry: Entry, known: Known, most: int) -> bytes | None:
    """None when it cannot be read, or is too large to be worth it."""
    size = entry.stamp[1]
    if size <= most:
        data = read(top, entry, most)
        return None if data is None else blob(data)
    if entry.path not in known.base or entry.kind != "file":
        return None
    digest = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
    try:
        with open(open_beneath(top, os.fsdecode(entry.path), os.O_RDONLY), "rb") as file:
            for piece in _pieces(file.fileno(), size):
                digest.update(piece)
    except OSError:
        return None
    return digest.hexdigest().encode()


def _leave_out(entry: Entry, known: Known, taken: Taken, most: int) -> None:
    large = entry.stamp[1] > most
    taken.left_out.append(left_out(entry.path, "too_large" if large else "unreadable"))
    if large and entry.path in known.base:
        taken.objects[entry.path] = known.base[entry.path]


def hand_over(root: int, folder: str, taken: Taken, pipe: int, most: int) -> dict[bytes, bytes]:
    """Write what is new as `git fast-import` reads it, and close the pipe. The hash of what was written, by path."""
    written = {}
    with open(pipe, "wb", buffering=AT_ONCE) as out, opened(root, folder) as top:
        out.write(b"feature done\n")
        for entry in taken.new:
            data = read(top, entry, most)
            if data is not None:
                out.write(b"blob\ndata %d\n%b\n" % (len(data), data))
                written[entry.path] = blob(data)
        out.write(b"done\n")
    return written


def mode(entry: Entry) -> bytes:
    if entry.kind == "link":
        return b"120000"
    return b"100755" if entry.executable else b"100644"


def blob(data: bytes) -> bytes:
    """Its name in git."""
    return hashlib.sha1(b"blob %d\0%b" % (len(data), data), usedforsecurity=False).hexdigest().encode()


def read(top: int, entry: Entry, most: int) -> bytes | None:
    """None when it is larger than `most`, or has become something else since it was listed."""
    path = os.fsdecode(entry.path)
    try:
        if entry.kind == "link":
            return _target(top, path)
        fd = open_beneath(top, path, os.O_RDONLY)
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return None
        data = b"".join(_pieces(fd, most + 1))
    except OSError:
        return None
    finally:
        os.close(fd)
    return data if len(data) <= most else None


def _target(top: int, path: str) -> bytes:
    """The text of the link; where it leads is nobody's business here."""
    fd = open_beneath(top, path, os.O_PATH)
    try:
        return os.readlink(b"", dir_fd=fd)
    finally:
        os.close(fd)


def _pieces(fd: int, left: int) -> Iterator[bytes]:
    while left > 0 and (piece := os.read(fd, min(left, AT_ONCE))):
        left -= len(piece)
        yield piece
