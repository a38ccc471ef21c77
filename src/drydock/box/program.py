"""One program to run in a box: the caller's words and bytes, nothing of which the supervisor acts on."""

from __future__ import annotations

import marshal
import os
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from drydock.box.inside.messages import FORMAT

WORK = "/box/work"
TMP = "/box/tmp"
HOME = "/box/home"
CODE = "/box/code"
Layer = tuple[str, str]
"""A tree of the store by its name, and the place of wall.LAYER_PLACES where it is mounted."""


@dataclass(frozen=True, slots=True)
class Program:
    argv: Sequence[str] | None = None
    """The program and its arguments; None runs `script` in the slot's warm Python."""
    script: str = ""
    """Absolute path, in the box, of the Python source to run; it is one of `files`."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """Absolute path in the box -> contents; written before the start. Paths are checked by whoever accepts them."""
    folders: Sequence[str] = ()
    """Empty folders to make in the work folder."""
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str = ""
    """Relative to the work folder."""
    stdin: bytes = b""
    layers: Sequence[Layer] = ()
    """Of single-use boxes; a held box mounts its own when it opens."""
    read_only: bool = False
    """Held boxes: this program may not write the work folder."""


def body_memfd(program: Program) -> int:
    """The program's body in anonymous memory, for the box alone; the caller closes it."""
    files = list(program.files.items())
    header = marshal.dumps(
        {
            "argv": None if program.argv is None else list(program.argv),
            "script": program.script,
            "env": env_bytes(program.env),
            "cwd": f"{WORK}/{program.cwd}" if program.cwd else WORK,
            "folders": _folders(program),
            "files": [(path, len(data)) for path, data in files],
        },
        FORMAT,
    )
    return bytes_memfd(b"".join((struct.pack("<I", len(header)), header, *(data for _, data in files))))


def env_bytes(env: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    return [(os.fsencode(name), os.fsencode(value)) for name, value in env.items()]


def _folders(program: Program) -> list[str]:
    """Every folder that has to be made, parents first."""
    wanted: dict[str, None] = {}
    for path in (*program.files, *(f"{WORK}/{folder}/." for folder in program.folders)):
        parts = path.split("/")
        for depth in range(4, len(parts)):  # "", "box", "work": those three are there
            wanted["/".join(parts[:depth])] = None
    return list(wanted)


def bytes_memfd(data: bytes) -> int:
    fd = os.memfd_create("drydock", os.MFD_CLOEXEC)
    try:
        view = memoryview(data)
        at = 0
        while at < len(view):
            at += os.pwrite(fd, view[at:], at)
    except OSError:
        os.close(fd)
        raise
    return fd
