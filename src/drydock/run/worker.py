"""Carries runs in this process: each is claimed, played from its records, and ended, parked or handed back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from drydock.agent.desk import Stopped
from drydock.errors import DrydockError
from drydock.observe.log import Log
from drydock.run import ending, logs
from drydock.run.artefacts import Artefacts
from drydock.run.desk import FINAL, SAID, RunDesk, next_moment
from drydock.run.ending import COMPLETED, Ending, of_error
from drydock.run.known import Known
from drydock.run.ledger import Leave, Ledger, Lost
from drydock.run.parts import Job, Makes, Parts, RunFailed
from drydock.run.records import Records
from drydock.run.site import BoxSite
from drydock.run.spec import Spec
from drydock.run.steering import PARK_AFTER, Parked, Steering
from drydock.run.wakes import Wakes
from drydock.run.walk import walk
from drydock.run.workspace import Workspace
from drydock.store.run import Run

MOST_PLAYS = 5
"""Of one run without one step that came to its end."""


class Released(Leave):
    """The server stops; whoever finds the run next goes on with it."""


@dataclass(slots=True)
class Carried:
    """A run that is played here now."""

    steering: Steering
    workspace: Workspace


class Worker:
    def __init__(
        self,
        name: str,
        records: Records,
        wakes: Wakes,
        makes: Makes,
        workspaces: Callable[[Run], Workspace],
        log: Log,
        *,
        on_parked: Callable[[str, datetime], None],
        holds: Callable[[], bool] = lambda: True,
        park_after: float = PARK_AFTER,
    ) -> None:
        """`on_parked` hears when time alone will bring a run on that was parked here; `holds` says whether this worker
        has its lease."""
        self.name, self._on_parked, self._holds = name, on_parked, holds
        self._records, self._wakes, self._makes, self._workspaces = records, wakes, makes, workspaces
        self._log, self._park_after = log, park_after
        self.carried: dict[str, Carried] = {}
        self.draining = False
        self._idle = asyncio.Event()
        self._idle.set()

    async def carry(self, run_id: str) -> None:
        """One segment of a run: until it has ended, is parked, or is somebody else's."""
        self._idle.clear()
        try:
            while await self._segment(run_id):
                pass
        except Lost as lost:
            self._log.info("run_lost", run=run_id, why=lost.message)
        except Leave as left:
            self._log.warning("run_left", run=run_id, why=left.message)
        finally:
            if not self.carried:
                self._idle.set()

    async def _segment(self, run_id: str) -> bool:
        """Whether it is to be played again at once."""
        run = await asyncio.to_thread(self._records.runs.claim, run_id, self.name)
        if run is None:
            await asyncio.to_thread(close_cancelled, self._records, run_id)
            return False
        ledger = Ledger(self._records, run)
        if self.draining:
            return await self._release(ledger)
        if run.status == "paused" and await self._park(ledger):
            return False
        spec = Spec.from_json(run.spec)
        known = await asyncio.to_thread(Known.read, self._records, run_id)
        workspace = self._workspaces(run)
        if known.workspace is not None:
            workspace.stands_at(known.workspace)
        steering = Steering(ledger, spec, workspace, self._wakes, self._park_after)
        self.carried[run_id] = Carried(steering, workspace)
        try:
            return await self._play(ledger, spec, known, steering, workspace)
        finally:
            await steering.close()
            await workspace.close()
            del self.carried[run_id]

    async def _play(self, ledger: Ledger, spec: Spec, known: Known, steering: Steering, workspace: Workspace) -> bool:
        run = ledger.run
        desk = RunDesk(ledger, known, steering, workspace)
        site = BoxSite(workspace.main, run.epoch)
        job = Job(run.id, run.caller, spec, desk, site, workspace, self._still_ours(ledger))
        parts = self._makes(run, spec)
        ends_box = asyncio.ensure_future(_end_with(steering, workspace))
        try:
            await self._begin(ledger, spec)
            await self._count_play(ledger, known)
            await steering.open()
            result: Mapping[str, Any] = await steering.unless_stopped(walk(job, parts, self._phase(ledger)))
            how = COMPLETED
        except Parked:
            await workspace.close()
            return not await self._park(ledger)
        except Released:
            await workspace.close()
            return await self._release(ledger)
        except Leave:
            raise
        except (Stopped, DrydockError, Exception) as wrong:  # noqa: BLE001 - a run has an ending, whatever went wrong
            how = of_error(wrong)
            if not isinstance(wrong, Stopped):
                self._log.error("run_failed", wrong, run=run.id, step=run.phase)
            await workspace.close()  # first of all nothing of it runs any more
            result = await self._salvaged(job, parts, how)
        finally:
            ends_box.cancel()
            await parts.close()
        await self._end(ledger, how, result)
        await workspace.discard()
        return False

    async def _begin(self, ledger: Ledger, spec: Spec) -> None:
        """`run_started`, once, whoever comes to it first."""
        now = datetime.now(UTC)
        if ledger.run.started_at is None:
            await ledger.change(only_if=("queued",), status="running", started_at=now, updated_at=now)
        started = ledger.run.started_at or now
        at = started.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        data = {"repo": spec.repo, "startedAt": at, "timeoutSeconds": spec.timeout_ms // 1000}
        await ledger.tell("run_started", "run_started", data)

    async def _count_play(self, ledger: Ledger, known: Known) -> None:
        """A run in whose step the server dies each time is not played for ever. A leave in good order counts for
        nothing, and every step that comes to its end begins the count anew."""
        before = ledger.run.control.get("plays") or {}
        times = int(before.get("times", 0)) + 1 if before.get("ended") == len(known.ended) else 1
        await ledger.change(control={"plays": {"ended": len(known.ended), "times": times}})
        if times > MOST_PLAYS:
            where = ", ".join(sorted(known.begun)) or "its beginning"
            raise RunFailed("unknown_error", f"the server has died {MOST_PLAYS} times in the same step: {where}")

    def _still_ours(self, ledger: Ledger) -> Callable[[], Awaitable[None]]:
        async def ask() -> None:
            await ledger.current()
            if not self._holds():
                raise Lost("the lease was lost")

        return ask

    def _phase(self, ledger: Ledger) -> Callable[[str], Any]:
        async def note(phase: str) -> None:
            await ledger.change(phase=phase)

        return note

    async def _end(self, ledger: Ledger, how: Ending, result: Mapping[str, Any]) -> None:
        result = {**await asyncio.to_thread(told_by, self._records, ledger.run.id), **result}
        if await ending.end(ledger, how, result) is None:
            run = await ledger.current()
            reason = str(run.control.get("cancellation_reason", "Cancelled"))
            await ending.end(ledger, Ending("cancelled", reason, "cancelled"), {**result, "success": False})
        self._log.info("run_ended", run=ledger.run.id, status=how.status, error_type=how.error_type)
        await self._keep_artefacts(ledger)

    async def _keep_artefacts(self, ledger: Ledger) -> None:
        """They follow from the records, so a store that does not answer now costs nothing: they are made when asked."""
        try:
            run = await ledger.current()
            await asyncio.to_thread(Artefacts(self._records).keep, run)
        except DrydockError as wrong:
            self._log.warning("run_artefacts_failed", run=ledger.run.id, why=wrong.message)

    async def _salvaged(self, job: Job, parts: Parts, how: Ending) -> dict[str, Any]:
        result: dict[str, Any] = {"success": False, "error": how.error, "errorType": how.error_type}
        try:
            return {**result, **await parts.deliver.salvage(job)}
        except Exception as wrong:  # noqa: BLE001 - what cannot be saved must not cost the run its ending
            self._log.error("run_salvage_failed", wrong, run=job.id)
            return result

    async def _park(self, ledger: Ledger) -> bool:
        """False when what it waited for has come meanwhile."""

        def still_waits(run: Run) -> bool:
            waiting = run.control.get("waiting")
            return run.status == "paused" or (waiting is not None and _unanswered(self._records, run, waiting))

        parked = await ledger.change(control={"parked": True, "ticking_since": None, "plays": None}, still=still_waits)
        if parked is not None and parked.control.get("waiting") is not None:
            self._on_parked(parked.id, next_moment(parked.control["waiting"]))
        return parked is not None

    async def _release(self, ledger: Ledger) -> bool:
        """Its next segment has a name of its own: this one's workflow is about to be over."""
        await ledger.change(segment=ledger.run.segment + 1, control={"ticking_since": None, "plays": None})
        return False

    def lose(self) -> None:
        """The lease is lost: whoever has it now goes on with the runs, and nothing is written here any more."""
        for carried in self.carried.values():
            carried.steering.stop(Lost("the lease was lost"))

    async def close(self) -> None:
        """Leave every run; each goes on elsewhere, or here after the next start."""
        self.draining = True
        for carried in self.carried.values():
            carried.steering.stop(Released("the server stops"))
        await self._idle.wait()


async def _end_with(steering: Steering, workspace: Workspace) -> None:
    """The box goes at once when the run is stopped: the walk may take its time to unwind."""
    await steering.until_stopped()
    await workspace.close()


def _unanswered(records: Records, run: Run, waiting: Mapping[str, Any]) -> bool:
    number = int(waiting["number"])
    [letter] = records.inbox.read(run.id, number - 1, 1)
    return letter.body["status"] not in FINAL and next_moment(letter.body) > datetime.now(UTC)


def told_by(records: Records, run: str) -> dict[str, Any]:
    """Fields of the result that follow from journal and inbox: the log, and what a person said and nobody heard."""
    events = list(records.journal.all(run))
    heard = {event.data["instructionId"] for event in events if event.type == "run_instruction_received"}
    said = [letter for letter in records.inbox.read(run) if letter.kind in SAID and str(letter.number) not in heard]
    unheard = [{"instructionId": str(each.number), "content": each.body.get("text", "")} for each in said]
    return {"logs": logs.read(events), **({"unprocessedInstructions": unheard} if unheard else {})}


def close_cancelled(records: Records, run_id: str) -> None:
    """A run that was cancelled while nobody carried it, or whose worker died right then, gets its last event."""
    run = records.runs.get(run_id)
    if run is None or run.status != "cancelled":
        return
    reason = str(run.control.get("cancellation_reason", ""))
    result = dict(run.result or {"success": False, "error": reason, "errorType": "cancelled"})
    records.runs.change(run_id, result=result)
    records.journal.append(run_id, ending.cancelled_entries(reason, result, datetime.now(UTC)))
