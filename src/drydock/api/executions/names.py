"""Names of files that a caller gives: relative POSIX paths that stay where they are put."""

from __future__ import annotations

import re
from collections.abc import Iterable

from drydock.api.text import has_surrogate

LONGEST_NAME = 1024
LONGEST_PART = 255
CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def bad_name(names: Iterable[str], output_dir: str) -> str | None:
    """The first name that cannot be an input file's, or None. One name cannot be the folder of another."""
    seen = set(names)
    for name in seen:
        parts = name.split("/")
        if not _is_path(name, parts) or parts[0] == output_dir:
            return name
        for end in range(1, len(parts)):
            if "/".join(parts[:end]) in seen:
                return name
    return None


def _is_path(name: str, parts: list[str]) -> bool:
    if CONTROL.search(name) or has_surrogate(name) or len(name.encode()) > LONGEST_NAME:
        return False
    return all(part not in ("", ".", "..") and len(part.encode()) <= LONGEST_PART for part in parts)
