"""How a request came by its packages, for the reply."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from drydock.egress.denial import Denial


@dataclass(frozen=True, slots=True)
class Report:
    hit: bool
    """Nothing had to be installed for it."""
    time_ms: int
    layer: str
    lock: Sequence[str]
    """Pinned and sorted; the list is one of requirements again."""
    denials: Sequence[Denial] = ()

    def as_dict(self) -> dict[str, Any]:
        return {
            "cache": "hit" if self.hit else "miss",
            "time_ms": self.time_ms,
            "layer": self.layer,
            "lock": list(self.lock),
            "denials": [denial.as_dict() for denial in self.denials],
        }
