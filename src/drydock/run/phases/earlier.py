"""What a run leaves to the one that follows it: where its work stands, and what was said in it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from drydock.agent.talk import MOST_EARLIER
from drydock.errors import NotFound
from drydock.model.conversation import Message
from drydock.run.artefacts import patch_key
from drydock.store.objects import ObjectStore
from drydock.store.runs import Runs


@dataclass(frozen=True, slots=True)
class Earlier:
    """As a step records it."""

    ref: str = ""
    """What to clone: the branch that it pushed, or the commit that it began with."""
    branch: str = ""
    """What goes on there is pushed there."""
    patch: str = ""
    """Name of the patch with its work in the object store; empty when its branch holds all of it."""
    conversation: Sequence[Mapping[str, Any]] = ()

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


class Legacies:
    """For worker threads."""

    def __init__(self, runs: Runs, objects: ObjectStore) -> None:
        self._runs, self._objects = runs, objects

    def keep(self, run: str, conversation: Sequence[Message]) -> None:
        """Without what only the model's own library can read: the next one may be another."""
        plain = [asdict(replace(message, raw=None)) for message in conversation[-MOST_EARLIER:]]
        self._objects.put(_key(run), json.dumps(plain).encode())

    def of(self, run: str, caller: str) -> Earlier:
        found = self._runs.get(run, caller)
        if found is None:
            raise NotFound("the run to follow is no longer there", where="follow_up_of")
        result = found.result or {}
        said = json.loads(self._objects.get(_key(run)) or b"[]")
        commit = result.get("commit") or {}
        if commit.get("pushed"):
            return Earlier(str(commit["branch"]), str(commit["branch"]), "", said)
        patch = patch_key(run, str(result["tree"])) if result.get("diff") else ""
        return Earlier(str(result.get("base", "")), "", patch, said)

    def patch(self, earlier: Earlier) -> bytes:
        found = self._objects.get(earlier.patch)
        if found is None:
            raise NotFound("what the run to follow had changed is no longer kept", where="follow_up_of")
        return found


def _key(run: str) -> str:
    return f"runs/{run}/conversation.json"
