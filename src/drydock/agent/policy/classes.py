"""The class of a simple command, by the words of classes.toml."""

from __future__ import annotations

import posixpath
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

from drydock.agent.policy import shell
from drydock.agent.policy.shell import Simple

DATA = Path(__file__).parent / "classes.toml"
Class = Literal["forbidden", "unread", "network", "fetch", "risky", "low"]
HIGHEST_FIRST: tuple[Class, ...] = ("forbidden", "unread", "network", "fetch", "risky", "low")
_SHELLS = {"sh", "bash", "dash", "zsh", "ksh"}
_INTERPRETERS = _SHELLS | {"python", "node", "perl", "ruby"}
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_VERSION = re.compile(r"(?<=[a-z])[\d.]+$")
_PLAIN_GIT_BRANCH = {"--show-current", "--list", "-l", "-a", "-r", "-v", "-vv", "--all", "--remotes"}


@cache
def table() -> Mapping[str, Any]:
    return tomllib.loads(DATA.read_text("utf-8"))


@dataclass(slots=True)
class Classed:
    name: Class = "low"
    why: str = ""
    nested: list[Simple] = field(default_factory=list)
    """What a shell is given with `-c`, which has a class of its own."""


def program(word: str) -> str:
    """`/usr/bin/Pip3.11` is pip; `mkfs.ext4` is mkfs."""
    name = word.rpartition("/")[2].lower()
    return "mkfs" if name.startswith("mkfs.") else _VERSION.sub("", name)


def arguments(words: Sequence[str]) -> list[str]:
    """The words of the program itself: leading assignments are not."""
    begin = next((at for at, word in enumerate(words) if not _ASSIGNMENT.match(word)), len(words))
    return list(words[begin:])


def calls(tool: str, words: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """The subcommand behind the options of `tool`, with what follows it."""
    valued, skip = table()["values"].get(tool, ()), False
    for at, word in enumerate(words):
        if skip:
            skip = False
        elif word.startswith("-"):
            skip = word in valued
        else:
            yield word.lower(), list(words[at + 1 :])
            return


def classify(simple: Simple) -> Classed:
    words = arguments(simple.words)
    if not words:
        return Classed()
    first = program(words[0])
    if "$" in first:
        return Classed("unread", "what it runs is only known when it runs")
    if simple.piped and first in _INTERPRETERS and len(words) == 1:
        return Classed("unread", f"{first} runs what the program before it writes")
    if simple.into and first in ("curl", "wget"):
        return Classed("forbidden", f"{first} into a pipe")
    found = Classed()
    reads = first in table()["reading"]["words"]
    for at in range(1 if reads else len(words)):
        name, why = _of(program(words[at]), words[at + 1 :])
        if HIGHEST_FIRST.index(name) < HIGHEST_FIRST.index(found.name):
            found.name, found.why = name, why
    _look_inside(words, found)
    return found


def _of(tool: str, rest: Sequence[str]) -> tuple[Class, str]:
    if tool == "rm" and _removes_by_force(rest):
        at_root = any(_is_root(word) for word in rest)
        return ("forbidden", "rm of /") if at_root else ("risky", "rm -rf")
    for name in HIGHEST_FIRST:
        if name in table() and tool in table()[name]["words"]:
            return name, tool
        for called, after in calls(tool, rest):
            if called in table()[name].get("calls", {}).get(tool, ()) and not _is_harmless(tool, called, after):
                return name, f"{tool} {called}"
    return "low", ""


def _is_harmless(tool: str, called: str, after: Sequence[str]) -> bool:
    """`git branch` that only shows, `go mod` that only writes go.mod."""
    if (tool, called) == ("git", "branch"):
        return all(word in _PLAIN_GIT_BRANCH for word in after)
    if (tool, called) == ("go", "mod"):
        return not {"download", "tidy", "vendor"} & set(after)
    return False


def _removes_by_force(words: Sequence[str]) -> bool:
    short = "".join(word[1:] for word in words if word.startswith("-") and not word.startswith("--")).lower()
    return ("r" in short or "--recursive" in words) and ("f" in short or "--force" in words)


def _is_root(word: str) -> bool:
    return word.startswith("/") and posixpath.normpath(word.removesuffix("*")).strip("/") == ""


def _look_inside(words: Sequence[str], found: Classed) -> None:
    """A shell with `-c`, and `eval`, run a text of their own."""
    for at, word in enumerate(words):
        text = ""
        if program(word) in _SHELLS:
            after = words[at + 1 :]
            given = next((n for n, option in enumerate(after) if re.fullmatch(r"-[a-z]*c[a-z]*", option)), None)
            text = after[given + 1] if given is not None and given + 1 < len(after) else ""
        elif word == "eval":
            text = " ".join(words[at + 1 :])
        if text:
            try:
                found.nested.extend(shell.read(text).commands)
            except (shell.Unread, shell.Malformed) as wrong:
                found.name, found.why = "unread", str(wrong)
            return


def by_text(text: str) -> tuple[Class, str]:
    """For a line that could not be read: the highest class whose words occur in it at all."""
    names = re.findall(r"[\w.+-]+", text)
    for name in HIGHEST_FIRST:
        for at, word in enumerate(names):
            found, why = _of(program(word), names[at + 1 :])
            if found == name and name != "low":
                return name, why
    return "unread", ""
