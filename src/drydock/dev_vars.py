"""The `.dev.vars` format of Wrangler: KEY=VALUE lines, comments, optional quotes that may span lines.

A value without quotes ends at the line's end or before ` #`. In double quotes `\\n`, `\\r`, `\\t`, `\\"` and `\\\\`
stand for what they stand for; in single quotes and backticks nothing is special.
"""

from __future__ import annotations

import re

from drydock.errors import Invalid

_BLANK = re.compile(r"[ \t\r\n]*(?:#[^\n]*(?:\n|\Z)[ \t\r\n]*)*")
_ENTRY = re.compile(
    r"""(?:export[ \t]+)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)[ \t]*=[ \t]*
        (?:"(?P<double>(?:[^"\\]|\\.)*)"|'(?P<single>[^']*)'|`(?P<tick>[^`]*)`|(?P<bare>[^"'`\s\#][^\r\n]*?)?)
        (?:[ \t]+\#[^\n]*)?[ \t]*\r?(?:\n|\Z)""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_MEANING = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\"}


def parse(text: str) -> dict[str, str]:
    """Names and values, empty ones included; the last of two with one name counts. Invalid names the line."""
    found: dict[str, str] = {}
    text = text.removeprefix("\ufeff")
    at = _skip(text, 0)
    while at < len(text):
        entry = _ENTRY.match(text, at)
        if entry is None:
            # The line itself is not shown: it may hold the value.
            line = text.count("\n", 0, at) + 1
            raise Invalid(
                f"Line {line} is not KEY=VALUE, a comment or blank.", where=f"line {line}", hint="Mend that line."
            )
        found[entry["name"]] = _value(entry)
        at = _skip(text, entry.end())
    return found


def _skip(text: str, at: int) -> int:
    blank = _BLANK.match(text, at)
    return blank.end() if blank else at


def _value(entry: re.Match[str]) -> str:
    if entry["double"] is not None:
        return _ESCAPE.sub(lambda mark: _MEANING.get(mark[1], mark[0]), entry["double"])
    return entry["single"] or entry["tick"] or entry["bare"] or ""
