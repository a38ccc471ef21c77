"""What a requirement may look like: names, extras, versions and markers, nothing that is an order to an installer."""

from __future__ import annotations

import re
from collections.abc import Iterable

from drydock.egress.grants import Ecosystem
from drydock.errors import Invalid

PYTHON = re.compile(
    r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"  # name
    r"\s*(?:\[[A-Za-z0-9._, -]*\])?"  # extras
    r"\s*\(?(?:(?:===|==|~=|!=|<=|>=|<|>)\s*[A-Za-z0-9.*+!_-]+\s*,?\s*)*\)?"  # versions
    r"\s*(?:;[A-Za-z0-9_.'\"<>=!~,() *+-]+)?"  # marker
)
NODE = re.compile(r"(?:@[a-z0-9~-][a-z0-9._~-]*/)?[A-Za-z0-9~-][A-Za-z0-9._~-]*(?:@[A-Za-z0-9.*^~<>=| +-]+)?")
LONGEST = 512
MOST = 256


def check(entries: Iterable[str], ecosystem: Ecosystem) -> None:
    """No option, path, URL or second line gets to the installer."""
    form = NODE if ecosystem == "npm" else PYTHON
    for count, entry in enumerate(entries, start=1):
        if count > MOST:
            raise Invalid(f"there are more than {MOST} requirements", where="requirements")
        if len(entry) > LONGEST or not entry.isprintable() or not form.fullmatch(entry.strip(" ")):
            raise Invalid(
                f'invalid requirement "{entry[:LONGEST]}"',
                where="requirements",
                hint="Write a name with its version, such as numpy==1.26.4; no option, path or URL.",
            )


def name(entry: str, ecosystem: Ecosystem) -> str:
    """The package that a requirement is about, in the one spelling that indexes compare."""
    if ecosystem == "npm":
        return entry[:1] + entry[1:].partition("@")[0]
    found = re.match(r"[A-Za-z0-9._-]+", entry)
    return re.sub(r"[-_.]+", "-", found[0] if found else entry).lower()
