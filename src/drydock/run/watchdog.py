"""The watchdog as its server sees it: told of each box and of each renewal of the lease; see watch.py for what it does.

It holds handles of the boxes, which no other process can come to have, and so need not be their parent.
"""

from __future__ import annotations

import itertools
import socket
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from drydock.errors import BoxFailed

PROGRAM = Path(__file__).with_name("watch.py")
ENDS_WITHIN_S = 5.0


class Watchdog:
    def __init__(self, limit_s: float) -> None:
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_CLOEXEC)
        self._names = itertools.count(1)
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", str(PROGRAM), str(theirs.fileno()), str(limit_s)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,  # a signal to the server's group is not for it
                env={},
                cwd="/",
            )
        finally:
            theirs.close()

    def renew(self) -> None:
        """From any thread."""
        self._tell("renew", ())

    def guard(self, handles: Mapping[str, int]) -> str:
        """The name under which it is forgotten again. The handles stay the caller's to close."""
        name = str(next(self._names))
        self._tell(" ".join(("guard", name, *handles)), list(handles.values()))
        return name

    def forget(self, name: str) -> None:
        with suppress(BoxFailed):
            self._tell(f"forget {name}", ())

    def _tell(self, words: str, fds: list[int] | tuple[()]) -> None:
        try:
            socket.send_fds(self._channel, [words.encode()], list(fds))
        except OSError as wrong:
            raise BoxFailed(f"the watchdog does not listen: {wrong.strerror}") from wrong

    def close(self) -> None:
        """It kills what is left, and ends."""
        self._channel.close()
        try:
            self._process.wait(ENDS_WITHIN_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
