"""What a run leaves to be taken away: its log, its patch, its events, its result, and a manifest with their hashes.

All of it follows from record and journal, so what is missing in the object store is made again when it is asked for.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from drydock.run import logs
from drydock.run.records import Records
from drydock.store.run import Event, Run

MANIFEST = "manifest.json"
NAMES = ("logs.txt", "diff.patch", "events.ndjson", "result.json", MANIFEST)
KINDS = {"txt": "text/plain; charset=utf-8", "patch": "text/x-diff; charset=utf-8", "ndjson": "application/x-ndjson"}


class Artefacts:
    """For worker threads."""

    def __init__(self, records: Records) -> None:
        self._records = records

    def keep(self, run: Run) -> Mapping[str, bytes]:
        """Put all of an ended run's into the object store."""
        made = dict(self._make(run))
        listed = [
            {"name": name, "size": len(data), "sha256": hashlib.sha256(data).hexdigest()} for name, data in made.items()
        ]
        made[MANIFEST] = _json({"run": run.id, "status": run.status, "files": listed})
        for name, data in made.items():
            self._records.objects.put(_key(run, name), data)
        return made

    def get(self, run: Run, name: str) -> bytes | None:
        """None when there is none of that name, or when the run has not ended."""
        if name not in NAMES or not run.ended:
            return None
        found = self._records.objects.get(_key(run, name))
        return self.keep(run).get(name) if found is None else found

    def patch(self, run: Run) -> bytes:
        """Byte for byte as it applies, where it was kept so; a result's own text is for people."""
        result = run.result or {}
        kept = self._records.objects.get(patch_key(run.id, str(result["tree"]))) if result.get("tree") else None
        return str(result.get("diff") or "").encode("utf-8", "replace") if kept is None else kept

    def _make(self, run: Run) -> Iterator[tuple[str, bytes]]:
        result = run.result or {}
        yield "logs.txt", logs.whole(self._records.journal.all(run.id)).encode("utf-8", "backslashreplace")
        if patch := self.patch(run):
            yield "diff.patch", patch
        yield "events.ndjson", b"".join(_json(_line(event)) for event in self._records.journal.all(run.id))
        yield "result.json", _json(result)


def patch_key(run: str, tree: str) -> str:
    """Of the patch that makes this tree of the run's base."""
    return f"runs/{run}/change-{tree}.patch"


def kind_of(name: str) -> str:
    return KINDS.get(name.rpartition(".")[2], "application/json")


def _line(event: Event) -> dict[str, Any]:
    moment = event.recorded_at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return {"index": event.seq, "event": {"type": event.type, **event.data}, "recordedAt": moment, "hash": event.hash}


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace") + b"\n"


def _key(run: Run, name: str) -> str:
    return f"runs/{run.id}/artefacts/{name}"
