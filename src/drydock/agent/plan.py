"""A plan: free text that a model wrote, and what can be read from it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from drydock.agent.lines import SHELLS, fences, outside_fences

_HEADING = re.compile(
    r"#{1,6}\s+(?P<hash>\S.*)"
    r"|(?:\d+[.)]\s+)?\*\*(?P<bold>[^*]+)\*\*:?"
    r"|(?:\d+[.)]\s+)?(?P<plain>[A-Z][\w/&-]*(?: [\w/&-]+){0,2}):"
    r"|(?P<bare>(?i:validation commands))"
)
_ITEM = re.compile(r"^\s*(?:[-*+]\s+(?:\[[ xX]\]\s+)?|\d+[.)]\s+)(.+)$")
_PATH = re.compile(r"`([^`\s]+)`|(?<![\w/.-])((?:[\w.-]+/)*[\w-]+\.[A-Za-z][A-Za-z0-9]{0,7})(?![\w/])")
_VALIDATION = ("validation commands", "validation command", "validation")
_STEPS = ("steps", "ordered steps", "plan", "approach", "implementation", "implementation steps", "order of work")
_FILES = ("files", "files to change", "files and why", "files to read", "files involved", "relevant files")
_RISKS = ("risks", "risks and assumptions", "assumptions", "risks & assumptions")
MOST_ENTRIES = 40


@dataclass(frozen=True, slots=True)
class Plan:
    text: str
    steps: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    validation: tuple[str, ...] = ()
    """Lines of its section `Validation commands`, as written; the gate chooses among them."""
    risks: tuple[str, ...] = ()


def read(text: str) -> Plan:
    sections = _sections(text)
    steps = _items(_first(sections, _STEPS)) or _numbered(text)
    validation = validation_section(text) or ""
    lines = [line for _, block in fences(validation) for line in block.splitlines()] or _items(validation.splitlines())
    return Plan(text, steps, _files(_first(sections, _FILES)), tuple(lines), _items(_first(sections, _RISKS)))


def validation_section(text: str) -> str | None:
    """The section titled `Validation commands`, fences and all; None when the plan has none."""
    for title, lines in _sections(text):
        if title in _VALIDATION:
            return "\n".join(lines)
    return None


def shell_fences(text: str) -> list[str]:
    return [block for language, block in fences(text) if language in SHELLS]


def _sections(text: str) -> list[tuple[str, list[str]]]:
    """Headings in lower case with the lines below them. A line in a fence is never a heading."""
    sections: list[tuple[str, list[str]]] = [("", [])]
    fence = ""
    for line in text.splitlines():
        mark = re.match(r"\s*(`{3,}|~{3,})", line)
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        found = None if fence or mark else _HEADING.fullmatch(line.strip())
        if found:
            title = next(text for text in found.groups() if text)
            sections.append((re.sub(r"^\d+[.)]\s*", "", title.strip(" *:`#").lower()), []))
        else:
            sections[-1][1].append(line)
    return sections


def _first(sections: Sequence[tuple[str, list[str]]], titles: Sequence[str]) -> list[str]:
    return next((lines for title, lines in sections if title in titles), [])


def _items(lines: Sequence[str]) -> tuple[str, ...]:
    """Its list items, or where it has none its lines."""
    found = [item[1].strip() for line in lines if (item := _ITEM.match(line))]
    return tuple((found or [line.strip() for line in lines if line.strip()])[:MOST_ENTRIES])


def _numbered(text: str) -> tuple[str, ...]:
    lines = [line for line in outside_fences(text) if re.match(r"^\s*\d+[.)]\s+\S", line)]
    return _items(lines)


def _files(lines: Sequence[str]) -> tuple[str, ...]:
    found = [hit[1] or hit[2] for line in lines for hit in _PATH.finditer(line)]
    return tuple(dict.fromkeys(path for path in found if "." in path or "/" in path))[:MOST_ENTRIES]
