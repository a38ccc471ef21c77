"""Changed paths that a person should look at: with them a check can pass although the work is wrong."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

DATA = Path(__file__).parent / "sensitive.toml"


@cache
def _kinds() -> dict[str, re.Pattern[str]]:
    data: dict[str, Sequence[str]] = tomllib.loads(DATA.read_text("utf-8"))
    return {kind: re.compile("|".join(map(_expression, globs)), re.IGNORECASE) for kind, globs in data.items()}


def _expression(glob: str) -> str:
    parts = re.split(r"(\*\*/|\*\*|\*)", glob)
    signs = {"**/": r"(?:.*/)?", "**": r".*", "*": r"[^/]*"}
    return "".join(signs.get(part, re.escape(part)) for part in parts)


def is_test(path: str) -> bool:
    return _kinds()["tests"].fullmatch(path) is not None


def sensitive_paths(paths: Iterable[str]) -> dict[str, list[str]]:
    """Those of the changed paths that are tests, CI or lint settings, by kind; kinds without any are left out."""
    changed = sorted(set(paths))
    found = {kind: [path for path in changed if pattern.fullmatch(path)] for kind, pattern in _kinds().items()}
    return {kind: hits for kind, hits in found.items() if hits}
