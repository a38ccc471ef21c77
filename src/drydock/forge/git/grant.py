"""What one command of git's may do to the remote. Whoever reads the door's other side is held to it as well."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

LINE_BYTES = 65520
_LENGTH = re.compile(rb"[0-9a-f]{4}")


@dataclass(frozen=True, slots=True)
class Fetch:
    service: Literal["git-upload-pack"] = "git-upload-pack"


@dataclass(frozen=True, slots=True)
class Push:
    """This one update of this one branch, from exactly what is there now."""

    branch: str
    old: str
    """Zeros when there is no such branch."""
    new: str
    service: Literal["git-receive-pack"] = "git-receive-pack"

    def command(self) -> bytes:
        return f"{self.old} {self.new} refs/heads/{self.branch}".encode()


Grant = Fetch | Push


def asks_for(body: bytes) -> list[bytes] | None:
    """The commands that a push begins with, or None while more of it is needed. ValueError when it is no push."""
    commands: list[bytes] = []
    at = 0
    while len(body) >= at + 4:
        length = body[at : at + 4]
        if not _LENGTH.fullmatch(length):
            raise ValueError("no packet line")
        if length == b"0000":
            return commands
        size = int(length, 16)
        if not 4 < size <= LINE_BYTES:
            raise ValueError("no packet line")
        if len(body) < at + size:
            return None
        # Behind a NUL stand the capabilities that the client wants.
        commands.append(body[at + 4 : at + size].partition(b"\0")[0].rstrip(b"\n"))
        at += size
    return None
