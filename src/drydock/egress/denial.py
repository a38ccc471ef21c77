"""A refusal: recorded for the caller, told to the program inside, and saying what to do instead."""

from __future__ import annotations

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


@dataclass(frozen=True)
class Denial:
    host: str
    path: str
    kind: DenialClass
    sentence: str
    """Fact and remedy, for a person or an agent."""

    def as_dict(self) -> dict[str, str]:
        return {"host": self.host, "path": self.path, "class": self.kind, "sentence": self.sentence}


class Refused(Exception):
    """Raised wherever something is not granted. `host` and `path` may be what a hostile program wrote."""

    def __init__(
        self, kind: DenialClass, sentence: str, *, host: str = "", path: str = "", status: int = HTTPStatus.FORBIDDEN
    ) -> None:
        super().__init__(sentence)
        self.denial = Denial(shown(host), shown(path), kind, sentence)
        self.status = int(status)


def shown(text: str) -> str:
    """Printable, and short: it goes into records that people read."""
    return "".join(one if " " < one <= "~" else f"\\x{ord(one):02x}" for one in text[:SHOWN])
