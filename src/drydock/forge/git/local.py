"""A repository in a folder of this machine: its objects and references are copied into git's box, read as data.

Its configuration, hooks and links are not: git never runs where they are. What is copied is found as a tenant's files
are, below an open folder and with nothing followed.
"""

from __future__ import annotations

import io
import os
import stat
import tarfile
from asyncio import to_thread
from contextlib import suppress

from drydock.box.collect import open_beneath
from drydock.box.program import TMP, Program
from drydock.errors import RepositoryFailed
from drydock.forge.git.box import ENV, GitBox
from drydock.forge.git.source import Local

COPY = f"{TMP}/source"
WANTED = ("HEAD", "packed-refs", "shallow", "refs", "objects")
DEEPEST = 32
_FOLDER = os.O_RDONLY | os.O_DIRECTORY
_UNPACK = 'rm -rf "$0"; mkdir -p "$0/refs" "$0/objects" && exec tar --extract --file=- --no-same-owner -C "$0"'


async def copy(source: Local, box: GitBox, most_bytes: int) -> None:
    """Into COPY, in the place of what was there."""
    top = _find(source)
    try:
        ours, theirs = os.pipe2(os.O_CLOEXEC)
        try:
            program = await box.held.start(Program(argv=["/bin/sh", "-c", _UNPACK, COPY], env=ENV), stdin=ours)
        except BaseException:
            os.close(theirs)
            raise
        finally:
            os.close(ours)
        with suppress(BrokenPipeError):  # the box has no room left, and its end says so
            await to_thread(_send, top, theirs, most_bytes)
        await box.end_of(program, f"the folder {source} could not be copied")
    finally:
        os.close(top)


def _find(source: Local) -> int:
    """The open folder that git keeps its objects in: `.git`, or the whole of a bare repository."""
    folder = os.open(source.folder, _FOLDER | os.O_CLOEXEC)
    try:
        for name in (".git", "."):
            with suppress(OSError):
                found = open_beneath(folder, name, _FOLDER)
                if {"HEAD", "objects"} <= set(os.listdir(found)):
                    return found
                os.close(found)
    finally:
        os.close(folder)
    raise RepositoryFailed(
        f"the folder {source} is no repository by itself",
        hint="Name the folder that holds `.git` as a folder; a worktree and a submodule only point to one.",
    )


def _send(top: int, pipe: int, most_bytes: int) -> None:
    with os.fdopen(pipe, "wb") as out, tarfile.open(fileobj=out, mode="w|") as archive:
        _Sending(archive, most_bytes).folder(top, "", WANTED, 0)


class _Sending:
    def __init__(self, archive: tarfile.TarFile, most_bytes: int) -> None:
        self._archive, self._left = archive, most_bytes

    def folder(self, fd: int, prefix: str, names: tuple[str, ...], depth: int) -> None:
        for name in names:
            try:
                about = os.stat(name, dir_fd=fd, follow_symlinks=False)
            except FileNotFoundError:
                continue
            if prefix + name == "objects/info/alternates":
                raise RepositoryFailed(
                    "the repository borrows its objects from another folder, which is not followed",
                    hint="Make it whole first: git repack -a -d, then remove objects/info/alternates.",
                )
            if stat.S_ISDIR(about.st_mode) and depth < DEEPEST:
                below = open_beneath(fd, name, _FOLDER)
                try:
                    self.folder(below, f"{prefix}{name}/", tuple(sorted(os.listdir(below))), depth + 1)
                finally:
                    os.close(below)
            elif stat.S_ISREG(about.st_mode):
                self._file(fd, name, prefix + name)

    def _file(self, folder: int, name: str, path: str) -> None:
        with open(open_beneath(folder, name, os.O_RDONLY), "rb") as file:
            about = tarfile.TarInfo(path)
            about.size, about.mode = os.fstat(file.fileno()).st_size, 0o644
            self._left -= about.size
            if self._left < 0:
                raise RepositoryFailed(
                    "the repository's folder is larger than a repository may be",
                    hint="Have an operator raise DRYDOCK_CLONE_BYTES.",
                )
            self._archive.addfile(about, _Exactly(file))


class _Exactly(io.RawIOBase):
    """A file that is being written to while it is copied still gives what its head in the archive has promised."""

    def __init__(self, file: io.BufferedReader) -> None:
        self._file = file

    def read(self, size: int = -1) -> bytes:
        return self._file.read(size).ljust(size, b"\0")
