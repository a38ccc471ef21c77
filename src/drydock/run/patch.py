"""A run's patch, one file at a time."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

_HEAD = re.compile(r"^diff --git ", re.MULTILINE)
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(rb"\\([0-7]{3}|.)")
_PLAIN = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}


def parts(patch: str) -> Iterator[str]:
    """Each file's part."""
    starts = [found.start() for found in _HEAD.finditer(patch)]
    for start, end in itertools.pairwise([*starts, len(patch)]):
        yield patch[start:end]


def of_file(patch: str, path: str) -> str | None:
    """The part of the file that has this name before or after; None when the patch does not touch it."""
    for part in parts(patch):
        if path in _names(part):
            return part
    return None


def _names(part: str) -> set[str]:
    """As its own lines tell them: the first line is ambiguous when a name holds a blank."""
    names: set[str] = set()
    head, _, _ = part.partition("\n@@")
    for line in head.split("\n"):
        for mark, prefix in (("--- ", "a/"), ("+++ ", "b/"), ("rename from ", ""), ("rename to ", "")):
            if line.startswith(mark):
                names.add(_unquoted(line[len(mark) :].rstrip("\t")).removeprefix(prefix))
    if not names:  # a change of mode, or a file with nothing in it: both names are the same
        words = head.split("\n", 1)[0].removeprefix("diff --git ")
        half = words[: len(words) // 2]
        names.add(_unquoted(half).removeprefix("a/"))
    return names


def _unquoted(name: str) -> str:
    """Git writes a name that holds other than plain characters as C does."""
    found = _QUOTED.fullmatch(name)
    if found is None:
        return name
    plain = _ESCAPE.sub(_escaped, found.group(1).encode())
    return plain.decode("utf-8", "replace")


def _escaped(found: re.Match[bytes]) -> bytes:
    told = found.group(1)
    return bytes([int(told, 8) & 255]) if len(told) == 3 else _PLAIN.get(told, told)
