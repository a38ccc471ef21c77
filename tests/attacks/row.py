"""One attack as data: the hostile program, its harmless twin, and what must hold afterwards."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.standins.index import Asked, Index
from tests.standins.wheels import Package

Shelf = Callable[[Mapping[str, str]], Sequence[Package]]
"""What an index has, given what the arena's places are."""

HELD = "HELD"
FINE = "FINE"
BREACH = "BREACH"
COMPLETED = ("completed",)


def filled(text: str, places: Mapping[str, str]) -> str:
    for name, value in places.items():
        text = text.replace(f"@{name}@", value)
    return text


@dataclass(frozen=True)
class Scene:
    """What came of an attack, for a row's own judge."""

    row: Row
    reply: dict[str, Any]
    seconds: float
    """Wall time of the whole request."""
    later: str = ""
    """Output of the program of `Row.later`."""
    before: str = ""
    """Output of the same program before the attack."""
    listener_heard: bytes = b""
    files_asked: Sequence[Asked] = ()
    """What came to the host of the index's files, which is not the index's own."""

    @property
    def out(self) -> str:
        return str(self.reply["stdout"])

    @property
    def reason(self) -> str:
        """How it ended, in the words of the wire."""
        if self.reply["status"] == "success":
            return "completed"
        return str(self.reply.get("end_reason", "exit"))


@dataclass(frozen=True, kw_only=True)
class Row:
    family: str
    name: str
    """A sentence: what the attacker tries."""
    attack: str
    """Prints BREACH for each thing that worked, and HELD as its last line when it got to its end.
    @NAMES@ are filled in by the arena: see Arena.places."""
    twin: str
    """The same means, put to a harmless use; prints FINE."""
    language: str = "python"
    limit: int = 10
    """Seconds given to both programs."""
    ends: tuple[str, ...] = COMPLETED
    """Endings of the attack that are right; HELD is looked for only if it completed."""
    within: float | None = None
    """Seconds for the reply; the contract's bound, limit + 1, when absent."""
    tight: bool = False
    """The bound on time is the point, so it runs with the machine idle."""
    greedy: bool = False
    """Takes more of the machine than its share, which it gets only while nobody else wants it."""
    meanwhile: str = "print('FINE')"
    """Another client's program, sent once the attack is in full swing; prints FINE within two seconds."""
    later: str = ""
    """Run by another client after the attack, in the same place; what it prints is for the judge."""
    later_as_before: bool = False
    """What `later` prints must be what it printed before the attack."""
    victim: str = ""
    """Another client's program that runs all the while; must print UNHARMED."""
    single: bool = False
    """Needs the server with one place only, so that whoever comes next gets the same one."""
    machinery: bool = False
    """Aims at parts that only Drydock has; the bare server has no such thing to defeat, knock-outs see to it."""
    shared_kernel: str = ""
    """Why it says nothing of a tier with a kernel of its own, when it does not."""
    shelf: Shelf | None = None
    """Packages that the arena's index has for this row; no two rows use one name."""
    stock: Callable[[Index], None] | None = None
    """What is wrong with that index, once it has them."""
    requires: Sequence[str] = ()
    """What the attack's program requires of the index; and so the other two."""
    index: str = ""
    """The index that the attack names instead of the server's."""
    twin_requires: Sequence[str] = ()
    later_requires: Sequence[str] = ()
    refused: Sequence[str] = ()
    """Requirements, each of which by itself is refused before anything starts."""
    judge: Callable[[Scene], None] | None = None
    files: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def id(self) -> str:
        return f"{self.family}: {self.name}"

    @property
    def bound(self) -> float:
        return self.within if self.within is not None else self.limit + 1.0
