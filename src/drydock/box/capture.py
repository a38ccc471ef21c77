"""One output stream of a program: a pipe that is always drained, of which the first bytes are kept."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable

CHUNK = 1 << 16
ROOM = 1 << 20
"""Bytes that a pipe takes while nobody reads it; the kernel gives memory to what is in it only."""


class Capture:
    def __init__(self, keep: int, tell: Callable[[bytes], None] | None) -> None:
        self.read_end, self.write_end = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self.read_end, False)
        self.total = 0
        self._keep = keep
        self._kept = 0
        self._parts: list[bytes] = []
        self._tell = tell

    @property
    def cut(self) -> bool:
        return self.total > self._kept

    def data(self) -> bytes:
        return self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)

    def read_some(self) -> bool:
        """Take what is there, at most one chunk so that one loud program cannot hold the loop; False at the end."""
        try:
            chunk = os.read(self.read_end, CHUNK)
        except BlockingIOError:
            return True
        self._take(chunk)
        return bool(chunk)

    def drain(self) -> None:
        """Take all that is left in the pipe, without waiting for more."""
        while True:
            try:
                chunk = os.read(self.read_end, CHUNK)
            except BlockingIOError:
                return
            if not chunk:
                return
            self._take(chunk)

    def _take(self, chunk: bytes) -> None:
        self.total += len(chunk)
        room = self._keep - self._kept
        if room > 0:
            kept = chunk if len(chunk) <= room else chunk[:room]
            self._parts.append(kept)
            self._kept += len(kept)
            if self._tell is not None and kept:
                self._tell(kept)

    def widen(self) -> None:
        """For a pipe that is not read from the beginning."""
        try:
            fcntl.fcntl(self.read_end, fcntl.F_SETPIPE_SZ, ROOM)
        except OSError:
            return  # this user's share of the kernel's memory for pipes is taken: 64 KiB then, read more often

    def hand_over(self) -> None:
        """The box has its own copy of the write end now."""
        os.close(self.write_end)
        self.write_end = -1

    def close(self) -> None:
        os.close(self.read_end)
        if self.write_end >= 0:
            os.close(self.write_end)
