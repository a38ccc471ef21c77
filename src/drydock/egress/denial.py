"""A refusal: recorded for the caller, told to the program inside, and saying what to do instead."""

from __future__ import annotations

import re
from dataclasses import dataclass
from http import HTTPStatus
from typing import Literal

DenialClass = Literal[
    "spelling",  # not HTTP, or a URL that can be read in two ways
    "method",  # anything but GET and HEAD
    "grant",  # nothing that this box was given covers it
    "path",  # not a page of the index, not a file that a page linked to
    "scheme",
    "port",
    "address",  # the host has an address that this grant may not reach
    "redirect",
    "page",  # what the index sent is no page
    "upstream",  # the other side refused, broke off or could not be reached
    "slow",
    "size",
    "bytes",
    "connections",
    "requests",
    "seconds",
    "links",
]
SHOWN = 300
_AUTHORITY = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*:)?//([^/\\]*)(.*)", re.DOTALL)
_HOST = re.compile(r"(?:\[[^\]]*\]|[^:]*)(?::[0-9]{1,5}(?![^/]))?")


@dataclass(frozen=True)
class Denial:
    host: str
    path: str
    """Without its query, in which people put what nobody else should read."""
    kind: DenialClass
    sentence: str
    """Fact and remedy, for a person or an agent."""

    def as_dict(self) -> dict[str, str]:
        """As every door shows it."""
        return {"host": self.host, "path": self.path, "class": self.kind, "message": self.sentence}


class Refused(Exception):
    """Raised wherever something is not granted. `host` and `path` may be what a hostile program wrote."""

    def __init__(
        self, kind: DenialClass, sentence: str, *, host: str = "", path: str = "", status: int = HTTPStatus.FORBIDDEN
    ) -> None:
        super().__init__(sentence)
        self.denial = _denial(kind, sentence, host, path)
        self.status = int(status)

    def about(self, target: str) -> None:
        """Says what was asked for, unless that is known already."""
        if not self.denial.host and not self.denial.path:
            self.denial = _denial(self.denial.kind, self.denial.sentence, "", target)


def _denial(kind: DenialClass, sentence: str, host: str, path: str) -> Denial:
    there, path = place(path)
    return Denial(shown(host or there), shown(path), kind, sentence)


def place(target: str) -> tuple[str, str]:
    """Host and path of what a program wrote, without user, query and fragment. For records alone: others may read the
    same text otherwise, which is why it was refused."""
    bare = re.split(r"[?#]", target, maxsplit=1)[0]
    if bare.startswith("/") and not bare.startswith("//"):
        return "", _without_users(bare)
    found = _AUTHORITY.fullmatch(bare)
    authority, path = found.groups() if found else re.split(r"(?=[/\\])|\Z", bare, maxsplit=1)[:2]
    host = _HOST.match(authority.rpartition("@")[2])
    return host[0] if host else "", _without_users(path)


def _without_users(path: str) -> str:
    """A path may hold another URL, and that one a password."""
    pieces = re.split(r"([/\\])", path)
    for at in range(0, len(pieces), 2):
        if ":" in pieces[at] or pieces[max(at - 2, 0)] == "":
            pieces[at] = pieces[at].rpartition("@")[2]
    return "".join(pieces)


def shown(text: str) -> str:
    """Printable, and short: it goes into records that people read."""
    return "".join(one if " " < one <= "~" else f"\\x{ord(one):02x}" for one in text[:SHOWN])[:SHOWN]
