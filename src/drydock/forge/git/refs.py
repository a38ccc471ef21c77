"""Names of branches and commits. What git or a shell could read as anything else is refused, not quoted."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase

from drydock.errors import RepositoryRefused

LONGEST = 200
_PLAIN = re.compile(r"[^\x00-\x20\x7f~^:?*\[\\]+")
_SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_HEXADECIMAL = re.compile(r"[0-9a-fA-F]{7,64}")


def is_sha(text: str) -> bool:
    """A whole one; a part of one may be a branch's name as well."""
    return _SHA.fullmatch(text) is not None


def check_ref(name: str, *, where: str = "branch") -> str:
    """As `git check-ref-format` has it, and never an option, a range or a commit in disguise."""
    if not _is_ref(name):
        raise RepositoryRefused(
            f"{name[:80]!r} is no name that a branch can have",
            where=where,
            hint="Use letters, digits, `-`, `_`, `.` and `/`, beginning with a letter or digit.",
        )
    return name


def check_new_branch(name: str, *, where: str = "branch") -> str:
    """One that a run may make: beside check_ref, nothing that git would take for a commit or a full reference."""
    check_ref(name, where=where)
    if _HEXADECIMAL.fullmatch(name) or name.startswith("refs/") or name.upper() in ("HEAD", "FETCH_HEAD"):
        raise RepositoryRefused(f"{name!r} reads like a commit or a reference, not like a branch", where=where)
    return name


def is_protected(branch: str, default: str, patterns: Iterable[str]) -> bool:
    """Compared without case: a forge on such a file system keeps both names in one file."""
    name = branch.lower()
    return name == default.lower() or any(fnmatchcase(name, each.lower()) for each in patterns)


def _is_ref(name: str) -> bool:
    if not name or len(name.encode("utf-8", "surrogatepass")) > LONGEST or not _PLAIN.fullmatch(name):
        return False
    if not name.isprintable() or name[0] in "-/." or name[-1] in "/." or name == "@":
        return False
    if ".." in name or "@{" in name or "//" in name:
        return False
    return not any(part.startswith(".") or part.lower().endswith(".lock") for part in name.split("/"))
