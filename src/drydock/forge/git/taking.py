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
from collections.abc import Iterator, Sequence
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


def hash_all(root: int, folder: str, entries: Sequence[Entry], known: set[bytes], memory: Memory, most: int) -> Taken:
    """`known` are hashes that git has. `memory` is renewed."""
    taken = Taken()
    old, memory.seen = memory.seen, {}
    settled = time.time_ns() - TICK_NS
    with opened(root, folder) as top:
        for entry in entries:
            before = old.get(entry.path)
            if before is not None and before[0] == entry.stamp:
                sha = before[1]
            else:
                data = read(top, entry, most) if entry.stamp[1] <= most else None
                if data is None:
                    taken.left_out.append(left_out(entry.path, "too_large" if entry.stamp[1] > most else "unreadable"))
                    continue
                sha = blob(data)
            if sha not in known:
                taken.new.append(entry)
            if entry.stamp[3] < settled:
                memory.seen[entry.path] = (entry.stamp, sha)
            taken.objects[entry.path] = (mode(entry), sha)
    return taken


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
