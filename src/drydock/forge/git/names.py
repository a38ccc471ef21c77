"""What a path in a repository may be called. Git refuses the worst by itself; this says so before, one name at a time.

Spelled as other systems read it: HFS+ ignores some characters, NTFS dots and blanks at a name's end, short names and
streams, and both ignore case. A name that is `.git` to any of them would be somebody's repository when checked out.
"""

from __future__ import annotations

import re
from typing import Literal

LONGEST_PATH = 4000
"""Bytes. The kernel takes 4095 in one call."""
DEEPEST = 128
BadName = Literal["reserved_name", "control_character", "too_long", "too_deep"]

_IGNORED_BY_HFS = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")
_GIT = re.compile(r"(?:\.git|git~[0-9]+)[ .]*(?::.*)?", re.DOTALL)
_MODULES = re.compile(
    r"(?:\.git(?:modules|attributes|ignore)|\.mailmap|gi[0-9a-f]{4}~[0-9]|git(?:mod|att|ign)~[0-9])[ .]*(?::.*)?"
)
_CONTROL = re.compile(rb"[\x00-\x1f\x7f]")


def is_git(name: bytes) -> bool:
    """The folder that git keeps for itself, in any spelling; it is never looked into."""
    return any(_GIT.fullmatch(part) for part in _as_others_read(name))


def wrong_with(path: bytes, *, link: bool) -> BadName | None:
    """About the path's last name alone: whoever walks comes by the others before."""
    name = path.rpartition(b"/")[2]
    if is_git(name) or (link and any(_MODULES.fullmatch(part) for part in _as_others_read(name))):
        return "reserved_name"
    if _CONTROL.search(name):
        return "control_character"
    if len(path) > LONGEST_PATH:
        return "too_long"
    return "too_deep" if path.count(b"/") >= DEEPEST else None


def _as_others_read(name: bytes) -> list[str]:
    """Windows takes a backslash for a slash."""
    return [_IGNORED_BY_HFS.sub("", part).lower() for part in name.decode("utf-8", "replace").split("\\")]
