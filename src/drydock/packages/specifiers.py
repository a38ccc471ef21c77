"""What a requirement may look like: names, extras, versions and markers, nothing that is an order to an installer."""

from __future__ import annotations

import re
from collections.abc import Iterable

from drydock.egress.grants import Ecosystem, FileGrant
from drydock.errors import Invalid

_OPERAND = r"(?:[a-z][a-z_.]*|'[A-Za-z0-9_.<>=!~,() *+-]*'|\"[A-Za-z0-9_.<>=!~,() *+-]*\")"
_CLAUSE = rf"[( ]*{_OPERAND}\s*(?:===|==|~=|!=|<=|>=|<|>|not\s+in\s|in\s)\s*{_OPERAND}[) ]*"
PYTHON = re.compile(
    r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"  # name
    r"\s*(?:\[[A-Za-z0-9._, -]*\])?"  # extras
    r"\s*\(?(?:(?:===|==|~=|!=|<=|>=|<|>)\s*[A-Za-z0-9.*+!_-]+\s*,?\s*)*\)?"  # versions
    rf"\s*(?:;{_CLAUSE}(?:\b(?:and|or)\b{_CLAUSE})*)?"  # marker
)
NODE = re.compile(r"(?:@[a-z0-9~][a-z0-9._~-]*/)?[A-Za-z0-9~][A-Za-z0-9._~-]*(?:@[A-Za-z0-9.*^~<>=| +-]+)?")
URL = re.compile(
    r"(?P<before>(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?\s*(?:\[[A-Za-z0-9._, -]*\])?\s*@\s*)?)"
    r"(?P<url>https://[^\s#]+)(?P<after>(?:#sha256=[0-9a-f]{64})?)"
)
"""A file by its address, if the operator allows such; its hash may stand behind it."""
LONGEST = 512
MOST = 256


def check(entries: Iterable[str], ecosystem: Ecosystem, *, urls: bool) -> None:
    """No option, path or second line gets to the installer, and a URL only where `urls` are allowed."""
    form = NODE if ecosystem == "npm" else PYTHON
    for count, entry in enumerate(entries, start=1):
        if count > MOST:
            raise Invalid(f"there are more than {MOST} requirements", where="requirements")
        if urls and len(entry) <= LONGEST and (found := URL.fullmatch(entry.strip(" "))):
            FileGrant.of(found["url"])
        elif len(entry) > LONGEST or not entry.isprintable() or not form.fullmatch(entry.strip(" ")):
            raise Invalid(
                f'invalid requirement "{entry[:LONGEST]}"',
                where="requirements",
                hint="Write a name with its version, such as numpy==1.26.4; no option, path or URL.",
            )


def file(entry: str) -> FileGrant | None:
    """What the build box must be granted for a requirement that is a file's address."""
    found = URL.fullmatch(entry)
    return FileGrant.of(found["url"]) if found else None


def by_relay(entry: str, relay: str) -> str:
    """The requirement with its address, if it has one, that of the relay."""
    found, grant = URL.fullmatch(entry), file(entry)
    return entry if found is None or grant is None else f"{found['before']}{relay}{grant.path}{found['after']}"


def name(entry: str, ecosystem: Ecosystem) -> str:
    """The package that a requirement is about, in the one spelling that indexes compare."""
    if (direct := URL.fullmatch(entry)) and not direct["before"]:
        return entry
    if ecosystem == "npm":
        return entry[:1] + entry[1:].partition("@")[0]
    found = re.match(r"[A-Za-z0-9._-]+", entry)
    return re.sub(r"[-_.]+", "-", found[0] if found else entry).lower()
