"""What gVisor is on this host: where its program is, which release, and what it cannot do."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass

from drydock.errors import Unavailable

SEEN_IN_A_BOX = "/usr/bin:/usr/local/bin"
ASK_S = 10
CANNOT = (
    "Held boxes: a program in gVisor has a kernel of its own, which ends with it.",
    "Work without root: its files, its kernel and the program have a uid of the host each.",
    "Bring a pipe or a socket out: its kernel keeps them to itself, so an answer does not name them as left out.",
    "Count exactly what a program inside takes: each of its processes costs some 5 MB of the box's memory besides.",
    "A release of 2022 refuses statx with AT_NO_AUTOMOUNT: `ls FILE` and `stat FILE` of coreutils fail with "
    '"Invalid argument"; other programs and all languages look at files in another way.',
)
"""Told by `drydock doctor`; what a request can ask for of these is refused by name."""


@dataclass(frozen=True, slots=True)
class Runsc:
    path: str


def find() -> Runsc:
    """Unavailable says what is missing and how to add it."""
    if os.geteuid() != 0:
        raise Unavailable(
            "gVisor needs a server that runs as root, and this one does not",
            hint="Run the server as root, or leave the isolation to `box`.",
        )
    path = shutil.which("runsc", path=SEEN_IN_A_BOX)
    if path is None:
        raise Unavailable("gVisor is not installed on this server", hint="Install it: apt-get install runsc")
    return Runsc(path)


def release(runsc: Runsc) -> str:
    asked = subprocess.run(
        [runsc.path, "--version"], capture_output=True, text=True, timeout=ASK_S, check=False, env={}
    )
    said = re.search(r"version (\S+)", asked.stdout)
    return said[1] if said is not None else "of an unknown release"
