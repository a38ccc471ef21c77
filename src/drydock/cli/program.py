"""What is to be run: a file or stdin, and the language that it is in."""

from __future__ import annotations

import re
import sys
from pathlib import Path, PurePath

from drydock.errors import Invalid

BY_ENDING = {
    ".py": "python",
    ".js": "node",
    ".mjs": "node",
    ".cjs": "node",
    ".sh": "shell",
    ".bash": "shell",
    ".go": "golang",
}
BY_INTERPRETER = {"python": "python", "node": "node", "sh": "shell", "bash": "shell", "dash": "shell"}


def read(source: str) -> str:
    """The text of a file, or of stdin when it is `-`."""
    try:
        return sys.stdin.buffer.read().decode() if source == "-" else Path(source).read_text("utf-8")
    except UnicodeDecodeError:
        raise Invalid(f"{source} is not text in UTF-8", where="FILE", hint="Run source code, not a program.") from None
    except OSError as wrong:
        raise Invalid(f"{source} cannot be read: {wrong.strerror}", where="FILE", hint="Look at the path.") from None


def language(source: str, code: str) -> str | None:
    """By the file's ending, else by the first line. None, for stdin alone, leaves it to the server's default."""
    found = BY_ENDING.get(PurePath(source).suffix) or _by_first_line(code)
    if found is None and source != "-":
        raise Invalid(
            f"nothing tells the language of {source}",
            where="FILE",
            hint=f"Name it with --language, or give the file an ending of {', '.join(BY_ENDING)}.",
        )
    return found


def _by_first_line(code: str) -> str | None:
    """`#!/usr/bin/env -S python3.11 -u` and its simpler kin."""
    first = code.split("\n", 1)[0]
    if not first.startswith("#!"):
        return None
    for word in first[2:].split():
        name = PurePath(word).name
        if name != "env" and not name.startswith("-") and "=" not in name:
            return BY_INTERPRETER.get(re.sub(r"[\d.]+$", "", name))
    return None
