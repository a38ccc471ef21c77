"""Which lines of a plan are checks: contract polychat, 6.1. Prose never is."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence

from drydock.agent.lines import command_lines, outside_fences
from drydock.agent.plan import shell_fences, validation_section
from drydock.agent.policy.judge import Rules, judge

MOST_CHECKS = 5
MOST_LINES = 60
_KEPT = re.compile(r"\b(?:tests?|lint|typecheck|type-check|check|verify|validate|build|clippy|fmt)\b", re.IGNORECASE)
_RUNNERS = frozenset(
    {"pytest", "tox", "nox", "jest", "vitest", "mocha", "rspec", "phpunit", "ctest"}
    | {"mypy", "ruff", "eslint", "tsc", "prettier"}
)
_BEFORE_RUNNERS = (("npx",), ("uv", "run"), ("poetry", "run"), ("pnpm", "exec"), ("bundle", "exec"))
_DROPPED = re.compile(
    r"\binstall\b|\bp?npm ci\b|\bcargo add\b|\bgo mod\b"
    r"|\bgit\b.*\b(?:add|commit|push|checkout|switch|merge|rebase|reset)\b",
    re.IGNORECASE,
)
Exists = Callable[[str], bool]


def candidates(plan: str) -> tuple[list[str], list[str]]:
    """Lines of shell fences, which are taken as they are, and lines that count only if their program is there."""
    section = validation_section(plan)
    if section is None:
        return _lines(shell_fences(plan)), []
    fenced = _lines(shell_fences(section))
    return (fenced, []) if fenced else ([], _lines(["\n".join(outside_fences(section))]))


def _lines(blocks: Sequence[str]) -> list[str]:
    return [line for block in blocks for line in command_lines(block)][:MOST_LINES]


def programs(plans: Sequence[str]) -> list[str]:
    """The first words that have to be looked for before `select`."""
    return sorted({first_word(line) for plan in plans for line in candidates(plan)[1]} - {""})


def first_word(line: str) -> str:
    return line.split()[0] if line.split() else ""


def select(plans: Sequence[str], exists: Exists, *, read_only: bool = False) -> list[str]:
    """The checks, from the last plan first. `exists` says whether a first word is a program."""
    rules = Rules("balanced", read_only=read_only, single=True)
    chosen: dict[str, None] = {}
    for plan in plans:
        sure, unsure = candidates(plan)
        for line in [*sure, *(line for line in unsure if exists(first_word(line)))]:
            if is_check(line) and judge(line, rules).effect != "deny":
                chosen[line] = None
    return list(chosen)[:MOST_CHECKS]


def is_check(line: str) -> bool:
    if _DROPPED.search(line):
        return False
    return _KEPT.search(line) is not None or _runs_checks(line)


def _runs_checks(line: str) -> bool:
    try:
        words = shlex.split(line)
    except ValueError:
        return False
    for prefix in _BEFORE_RUNNERS:
        if tuple(words[: len(prefix)]) == prefix:
            words = words[len(prefix) :]
            break
    if not words:
        return False
    if re.fullmatch(r"python[\d.]*", words[0]):
        return words[1:2] == ["-m"] and words[2:3] in (["pytest"], ["unittest"], ["mypy"], ["ruff"], ["tox"], ["nox"])
    return words[0] in _RUNNERS or words[:2] == ["go", "vet"]
