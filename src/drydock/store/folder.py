"""The data folder and the private files in it."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from drydock.errors import CannotStart


def make_folder(path: Path) -> Path:
    """The folder, made for its owner alone when it is missing; one that exists keeps the mode its owner gave it."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as wrong:
        raise CannotStart(
            f"The data folder {str(path)!r} cannot be made: {wrong.strerror}.",
            hint="Name another one with --data or DRYDOCK_DATA.",
        ) from None
    return path


def make_private_file(path: Path) -> None:
    """An empty 0600 file when there is none. SQLite gives its -wal and -shm files the mode of the database itself."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
        os.chmod(path, 0o600)
    except OSError as wrong:
        raise CannotStart(
            f"{str(path)!r} cannot be written: {wrong.strerror}.", hint="Run as the owner of the data folder."
        ) from None


def write_once(path: Path, content: bytes) -> None:
    """Make a 0600 file with this content, whole or not at all; one that is there already stays as it is.

    Written and synced under another name and then linked: a reader never meets half a file, and of two writers at
    once the first wins.
    """
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        descriptor = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
        try:
            with open(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.link(draft, path)
        except FileExistsError:
            return
        finally:
            os.unlink(draft)
        _sync_folder(path.parent)
    except OSError as wrong:
        raise CannotStart(
            f"{str(path)!r} cannot be written: {wrong.strerror}.", hint="Run as the owner of the data folder."
        ) from None


def _sync_folder(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
