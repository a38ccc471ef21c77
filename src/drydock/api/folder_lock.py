"""One server to a data folder: a lock that the kernel gives back however the holder ends."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from drydock.errors import CannotStart

NAME = "server.lock"


class FolderLock:
    def __init__(self, data: Path) -> None:
        """Take it, or CannotStart naming who has it."""
        try:
            data.mkdir(parents=True, exist_ok=True, mode=0o700)
            # O_CLOEXEC is Python's default: a box must not inherit the lock and outlive the server with it.
            self._file = os.open(data / NAME, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        except OSError as wrong:
            raise CannotStart(f"the data folder {data} cannot be used: {wrong.strerror}", where="--data") from None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(self._file, 200, 0).decode("utf-8", "replace").strip() or "a server that is just starting"
            os.close(self._file)
            raise CannotStart(
                f"the data folder {data} is in use by {holder}",
                where="--data",
                hint="Stop that server, or give this one a folder of its own with --data.",
            ) from None
        self.tell(None)

    def tell(self, address: str | None) -> None:
        """Write down who holds it, for the next one to read."""
        text = f"drydock serve, pid {os.getpid()}" + (f", at http://{address}" if address else "")
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, (text + "\n").encode(), 0)

    def release(self) -> None:
        os.ftruncate(self._file, 0)
        os.close(self._file)
