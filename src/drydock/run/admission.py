"""A run accepted: checked against its caller's quota, recorded, told, enqueued. From then on it is never lost."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from drydock.errors import Conflict, Draining, QuotaReached
from drydock.run.records import Records
from drydock.run.spec import Spec
from drydock.store.journal import Entry
from drydock.store.run import Run
from drydock.store.runs import OverQuota, Quota

WORDS = {
    "concurrent": "{0} runs are active, which is as many as you may have at once",
    "per_minute": "{0} runs were started within the last minute, which is as many as you may start",
    "per_day": "{0} runs were started within the last day, which is as many as you may start",
}


@dataclass(frozen=True, slots=True)
class Asked:
    """A run as a door asks for it."""

    spec: Spec
    caller: str
    dialect: str
    client_id: str | None = None
    idempotency_key: str | None = None
    body_hash: str | None = None
    installation: int | None = None
    quota: Quota = field(default_factory=Quota)


@dataclass(frozen=True, slots=True)
class Started:
    run: Run
    replayed: bool
    """It was there already, by the same key."""


class Admission:
    def __init__(self, records: Records, enqueue: Callable[[Run], Awaitable[None]]) -> None:
        self._records, self._enqueue = records, enqueue
        self.draining = False

    async def start(self, asked: Asked) -> Started:
        """QuotaReached, Conflict or Draining: then nothing was started and nothing is left."""
        if self.draining:
            raise Draining("the server is stopping and takes no new runs")
        now = datetime.now(UTC)
        run = Run(
            id=str(uuid.uuid4()),
            dialect=asked.dialect,
            caller=asked.caller,
            spec=asked.spec.to_json(),
            created_at=now,
            updated_at=now,
            client_id=asked.client_id,
            idempotency_key=asked.idempotency_key,
            body_hash=asked.body_hash,
            repo=asked.spec.repo.lower() or None,
            installation=asked.installation,
            control={"left_ms": asked.spec.timeout_ms},
        )
        kept = await asyncio.to_thread(self._records.runs.create, run, asked.quota)
        if isinstance(kept, OverQuota):
            raise QuotaReached(WORDS[kept.which].format(kept.limit))
        if kept.id != run.id:
            return Started(_same(kept, asked), True)
        await asyncio.to_thread(self._records.journal.append, run.id, [queued(run)])
        await self._enqueue(run)
        return Started(run, False)


def queued(run: Run) -> Entry:
    """The first event. Whoever finds a run without it tells it, under the same key."""
    told = {"repo": run.spec["repo"], "timeoutSeconds": run.spec["timeout_ms"] // 1000, "message": "Run queued"}
    return Entry("run_queued", "queued", told)


def _same(kept: Run, asked: Asked) -> Run:
    if asked.idempotency_key is not None and kept.idempotency_key == asked.idempotency_key:
        if kept.body_hash != asked.body_hash:
            raise Conflict("this Idempotency-Key was used for another request", where="Idempotency-Key")
        return kept
    raise Conflict("a run of yours has this id already", where="id", hint="Use another id.")
