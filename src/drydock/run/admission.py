"""A run accepted: checked against its caller's quota, recorded, told, enqueued. From then on it is never lost."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from drydock.errors import Conflict, Draining, Invalid, NotFound, QuotaReached
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
    credential: str | None = field(default=None, repr=False)
    """What opens its repository: kept sealed, apart from its record, until it has ended."""


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
        if asked.spec.follow_up_of is not None:
            earlier = await asyncio.to_thread(self._followed, asked.spec.follow_up_of, asked.caller)
            asked = replace(asked, spec=_following(asked.spec, earlier))
        run = _made(asked)
        if asked.credential is not None:
            await asyncio.to_thread(self._records.lent.keep, run.id, asked.credential)
        kept = await asyncio.to_thread(self._records.runs.create, run, asked.quota)
        if asked.credential is not None and (isinstance(kept, OverQuota) or kept.id != run.id):
            await asyncio.to_thread(self._records.lent.forget, run.id)
        if isinstance(kept, OverQuota):
            raise QuotaReached(WORDS[kept.which].format(kept.limit))
        if kept.id != run.id:
            return Started(_same(kept, asked), True)
        await asyncio.to_thread(self._records.journal.append, run.id, queued(run))
        await self._enqueue(run)
        return Started(run, False)

    def _followed(self, name: str, caller: str) -> Run:
        """The caller's own run of that id; another's is none."""
        found = self._records.runs.get(name, caller) or self._records.runs.by_client_id(caller, name)
        if found is None:
            raise NotFound("there is no such run to follow", where="follow_up_of")
        if not found.ended:
            raise Conflict("the run to follow has not ended", where="follow_up_of", hint="Wait for it, or cancel it.")
        return found


def _following(spec: Spec, earlier: Run) -> Spec:
    """On the same repository."""
    repo = str(earlier.spec["repo"])
    if spec.repo not in ("", repo):
        raise Invalid("a run works on the repository of the one that it follows", where="repo", hint="Leave it out.")
    return replace(spec, follow_up_of=earlier.id, repo=repo)


def _made(asked: Asked) -> Run:
    now = datetime.now(UTC)
    return Run(
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


def queued(run: Run) -> Sequence[Entry]:
    """The first event, if it is announced. Whoever finds a run without it tells it, under the same key."""
    if not run.spec.get("announced", True):
        return ()
    told = {"repo": run.spec["repo"], "timeoutSeconds": run.spec["timeout_ms"] // 1000, "message": "Run queued"}
    return [Entry("run_queued", "queued", told)]


def _same(kept: Run, asked: Asked) -> Run:
    if asked.idempotency_key is not None and kept.idempotency_key == asked.idempotency_key:
        if kept.body_hash != asked.body_hash:
            raise Conflict("this Idempotency-Key was used for another request", where="Idempotency-Key")
        return kept
    raise Conflict("a run of yours has this id already", where="id", hint="Use another id.")
