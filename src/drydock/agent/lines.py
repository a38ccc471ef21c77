"""Fences and command lines in what a model writes; the line rules of contract polychat, section 6.1."""

from __future__ import annotations

import re
from collections.abc import Iterator

_FENCE = re.compile(r"^\s*(`{3,}|~{3,})\s*([\w+-]*)")
_LEAD = re.compile(r"^(?:\$ |[-*] (?:\[[ xX]\] )?|\d+[.)] )\s*")
MOST_CHARACTERS = 520
"""A longer line is no command: the policy lets 500 through, and there may be marks before them."""
SHELLS = frozenset({"", "bash", "sh", "shell", "console"})


def fences(text: str) -> Iterator[tuple[str, str]]:
    """Fenced blocks with their language; one that is not closed ends with the text."""
    mark, language, block = "", "", list[str]()
    for line in text.splitlines():
        found = _FENCE.match(line)
        if not mark and found:
            mark, language, block = found[1], found[2].lower(), []
        elif mark and found and found[1].startswith(mark) and not found[2]:
            yield language, "\n".join(block)
            mark = ""
        elif mark:
            block.append(line)
    if mark:
        yield language, "\n".join(block)


def outside_fences(text: str) -> list[str]:
    inside, kept = "", list[str]()
    for line in text.splitlines():
        found = _FENCE.match(line)
        if found and (not inside or found[1].startswith(inside)):
            inside = "" if inside else found[1]
        elif not inside:
            kept.append(line)
    return kept


def command_lines(text: str) -> list[str]:
    """The lines that may be commands, their marks taken off."""
    return [line for line in map(_command, text.splitlines()) if line]


def _command(line: str) -> str:
    line = line.strip()
    if len(line) > MOST_CHARACTERS or not line or line.startswith("#") or _FENCE.match(line):
        return ""
    while found := _LEAD.match(line):
        line = line[found.end() :]
    if len(line) > 1 and line[0] == line[-1] and line[0] in '`"':
        line = line[1:-1].strip()
    if line == "cd" or line.startswith("cd "):
        return ""
    return line if line and ((line[0].isascii() and line[0].isalpha()) or line[0] in "./") else ""
