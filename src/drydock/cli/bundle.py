"""Files on their way to an execution, and back onto the caller's disk.

What comes back was named by a program that nobody has read, by way of a server that may be another's: a name is never
taken as a path. Each step below the target folder is opened in the one before it, without following links.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from drydock.errors import Invalid

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def pack(given: Sequence[str]) -> dict[str, bytes]:
    """Contents by name of every PATH or PATH=NAME; a folder brings all regular files below it."""
    files: dict[str, bytes] = {}
    for each in given:
        path, name = _split(each)
        for at, inner in _below(path, name):
            if inner in files:
                raise Invalid(
                    f"two files would be called {inner}", where="--file", hint="Give one another name: PATH=NAME."
                )
            files[inner] = _read(at)
    return files


def _split(given: str) -> tuple[Path, str]:
    """The last `=` divides, unless there is a file whose own name has it."""
    path, equals, name = given.rpartition("=")
    if not equals or os.path.lexists(given):
        path, name = given, ""
    inside = Path(path)
    if not name:
        away = inside.is_absolute() or ".." in inside.parts
        name = inside.resolve().name if away or not inside.name else inside.as_posix()
    return inside, name


def _below(path: Path, name: str) -> Iterator[tuple[Path, str]]:
    if not path.is_dir():
        yield path, name
        return
    for at, folders, names in os.walk(path):
        folders.sort()
        for each in sorted(names):
            file = Path(at, each)
            if stat.S_ISREG(file.lstat().st_mode):
                yield file, f"{name}/{file.relative_to(path).as_posix()}"


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as wrong:
        raise Invalid(f"{path} cannot be read: {wrong.strerror}", where="--file", hint="Look at the path.") from None


def unpack(files: Mapping[str, bytes], target: Path) -> None:
    """Write each below `target`, which is made when it is not there."""
    for name in files:
        check(name)
    target.mkdir(parents=True, exist_ok=True)
    with _opened(os.open(target, FOLDER & ~os.O_NOFOLLOW)) as top:
        for name, content in files.items():
            try:
                _write(top, name.split("/"), content)
            except OSError as wrong:
                raise Invalid(
                    f"{name!r} cannot be written below {target}: {wrong.strerror}",
                    where="--out",
                    hint="Choose an empty folder with --out.",
                ) from None


def check(name: str) -> None:
    parts = name.split("/")
    if any(part in ("", ".", "..") for part in parts) or "\0" in name:
        raise Invalid(
            f"the server named a file {name!r}, which is no path below a folder",
            where="--out",
            hint="Nothing was written. Do not trust that server.",
        )


def _write(top: int, parts: Sequence[str], content: bytes) -> None:
    *folders, last = parts
    at = os.dup(top)
    try:
        for folder in folders:
            inner = _enter(at, folder)
            os.close(at)
            at = inner
        _replace(at, last, content)
    finally:
        os.close(at)


def _enter(at: int, folder: str) -> int:
    with suppress(FileExistsError):
        os.mkdir(folder, dir_fd=at)
    return os.open(folder, FOLDER, dir_fd=at)


def _replace(at: int, name: str, content: bytes) -> None:
    """A new file put in the place of whatever had the name: a link there is replaced, never written through."""
    fresh = f".drydock-{secrets.token_hex(8)}"
    with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644, dir_fd=at), "wb") as file:
        file.write(content)
    try:
        os.replace(fresh, name, src_dir_fd=at, dst_dir_fd=at)
    except OSError:
        os.unlink(fresh, dir_fd=at)
        raise


@contextmanager
def _opened(descriptor: int) -> Iterator[int]:
    try:
        yield descriptor
    finally:
        os.close(descriptor)
