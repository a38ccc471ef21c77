"""What a task that changes nothing may run: a list of what is allowed, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Sequence

from drydock.agent.policy import classes
from drydock.agent.policy.shell import Line, Simple

_PACKAGE_MANAGERS = {"npm", "pnpm", "yarn", "bun"}
_WRITING_SED = re.compile(r"(?:^|[;{}0-9/$!\s])[wWe](?:\s|$)|/[gpI0-9]*[we](?:\s|$)")


def objection(line: Line) -> str:
    """Why the line is refused, or nothing."""
    for simple in line.commands:
        if simple.redirected:
            return "it redirects"
        if not _is_allowed(simple):
            return f"`{' '.join(simple.words[:3])}` is not on the list of commands that only read"
    return "it substitutes" if line.evaluated else ""


def _is_allowed(simple: Simple) -> bool:
    """An assignment before the program refuses it: it could make git or a test runner start something else."""
    words = simple.words
    if not words or "/" in words[0]:
        return False
    tool, rest = classes.program(words[0]), words[1:]
    data = classes.table()["read_only"]
    if any(_is_option(word, option) for option in data["options"].get(tool, ()) for word in rest):
        return False
    if tool in data["words"]:
        return True
    if tool == "sed":
        return "-n" in rest and not any(_WRITING_SED.search(word) for word in rest)
    if tool == "python":
        return len(rest) > 1 and rest[0] == "-m" and rest[1] in data["modules"]
    return _is_allowed_call(tool, rest, data["calls"])


def _is_option(word: str, option: str) -> bool:
    """`-o`, `-oFILE`, `--output`, `--output=FILE`; find's long options have one dash and no such forms."""
    if word == option or (option.startswith("--") and word.startswith(option + "=")):
        return True
    return len(option) == 2 and re.fullmatch(rf"-\w*{re.escape(option[1])}.*", word) is not None


def _is_allowed_call(tool: str, rest: Sequence[str], allowed: dict[str, list[str]]) -> bool:
    for called, after in classes.calls(tool, rest):
        if called in allowed.get(tool, ()):
            return True
        if tool in _PACKAGE_MANAGERS and called == "run":
            return bool(after) and after[0].partition(":")[0] in allowed[tool]
        if tool == "git":
            return called == "branch" and after == ["--show-current"]
        if tool == "cargo":
            return called == "fmt" and "--check" in after
        if tool == "uv":
            return called == "run" and after[:1] == ["pytest"]
    return False
