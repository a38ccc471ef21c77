"""What a run had done before: read once by whoever plays it again, so that a replay asks the database nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from drydock.run.records import Records

_NUMBER = re.compile(r"[0-9]+")


@dataclass(slots=True)
class Known:
    ended: Mapping[str, Any]
    """Steps by name, with their records."""
    begun: set[str]
    """Steps in which somebody died."""
    told: set[str]
    """Keys of all events."""
    taken: set[str]
    """Checkpoints that took letters."""
    last_seq: int = 0
    _left: set[str] = field(init=False)
    _places: set[str] = field(init=False)

    def __post_init__(self) -> None:
        self._left = set(self.ended) | self.begun
        self._places = {key.rpartition("/")[0] for key in self.told if "/" in key}

    @classmethod
    def read(cls, records: Records, run: str) -> Known:
        ended: dict[str, Any] = {}
        begun: set[str] = set()
        for step in records.steps.all(run):
            if step.ended:
                ended[step.name] = step.result
            else:
                begun.add(step.name)
        keys = records.journal.keys(run)
        letters = records.inbox.read(run, limit=100_000)
        return cls(ended, begun, set(keys), {letter.taken_by for letter in letters if letter.taken_by}, len(keys))

    @property
    def workspace(self) -> str | None:
        """The newest snapshot, by the epoch and the number in its name."""
        named = {str(record["workspace"]) for record in self.ended.values() if record.get("workspace")}
        return max(named, key=lambda name: [int(part) for part in _NUMBER.findall(name)][-2:], default=None)

    def reach(self, step: str) -> None:
        """The play has come to this step."""
        self._left.discard(step)

    def passed(self, checkpoint: str) -> bool:
        """Whether the run was past this checkpoint before: something that follows it is on record. Then it takes the
        letters that it took, and no newer ones, which the records after it could not have heard of."""
        return bool(self._left) or checkpoint in self._places or checkpoint in self.taken
