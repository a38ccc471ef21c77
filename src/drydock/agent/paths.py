"""A path of the repository as models write it, made plain or refused."""

from __future__ import annotations

MOST_CHARACTERS = 260


class BadPath(Exception):
    """Told to the model; links are looked at where the file is, in the box."""


def clean(path: str) -> str:
    path = path.strip()
    for end in "\"'`":
        path = path.removeprefix(end).removesuffix(end)
    path = path.replace("\\", "/")
    if not path:
        raise BadPath("the path is empty")
    if len(path) > MOST_CHARACTERS:
        raise BadPath(f"the path has more than {MOST_CHARACTERS} characters")
    if path.startswith("/"):
        raise BadPath("the path is absolute; paths are relative to the repository's root")
    if any(sign in path for sign in "\r\n\0"):
        raise BadPath("the path holds a line break or NUL")
    if any(part in (".", "..") for part in path.removesuffix("/").split("/")):
        raise BadPath("the path holds `.` or `..`")
    return path
