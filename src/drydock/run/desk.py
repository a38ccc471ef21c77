"""The desk of one run that is being carried: what `agent.desk.Desk` promises, kept over the run's records."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

from drydock.agent.desk import Answer, Instruction, Question
from drydock.run.known import Known
from drydock.run.ledger import Ledger
from drydock.run.steering import Freezer, Parked, Steering
from drydock.store.inbox import Letter
from drydock.store.journal import Entry

SAID = ("message", "continue")
FINAL = ("approved", "rejected", "timed_out")
TIMED_OUT = "Approval request timed out"


class Kept(Freezer, Protocol):
    """The workspace, as far as the desk has to do with it."""

    async def save(self) -> str | None:
        """Keep it as it is now, if it may have changed; the name under which it is kept."""
        ...

    def stands_at(self, snapshot: str) -> None:
        """It was kept under this name when the step that is now passed ended."""
        ...

    def touch(self) -> None:
        """It may have changed."""
        ...


class _Place:
    """Where in the run something is told: its events are numbered within it."""

    def __init__(self, prefix: str) -> None:
        self._prefix, self._told = prefix, 0

    def next_key(self) -> str:
        self._told += 1
        return f"{self._prefix}{self._told - 1}"


_attempt: ContextVar[_Place | None] = ContextVar("drydock_attempt", default=None)
"""The attempt at a step within which we are, if any: its events go out as they happen, under keys of its own."""


class RunDesk:
    def __init__(self, ledger: Ledger, known: Known, steering: Steering, kept: Kept) -> None:
        self._ledger, self._known, self._steering, self._kept = ledger, known, steering, kept
        self._place = _Place("start/")
        self._checkpoints = 0
        self._questions = 0

    async def emit(self, type: str, **data: Any) -> None:
        place = _attempt.get() or self._place
        key = place.next_key()
        if key in self._known.told:
            return
        if (why := self._steering.stopping) is not None:
            raise why
        await self._ledger.tell(key, type, {name: value for name, value in data.items() if value is not None})

    async def once(
        self, name: str, act: Callable[[], Awaitable[Any]], *, interrupted: Callable[[], Any] | None = None
    ) -> Any:
        self._known.reach(name)
        self._place = _Place(f"{name}/")
        if name in self._known.ended:
            record = self._known.ended[name]
            if record.get("workspace"):
                self._kept.stands_at(record["workspace"])
            return record["value"]
        await self._steering.gate()
        first = await self._ledger.begin(name)
        if first or interrupted is None:
            value = await self._steering.unless_stopped(self._attempt_at(name, act))
        else:
            # The workspace is opened from the last snapshot, which no step that was broken off has made.
            value = interrupted()
        await self._ledger.end(name, {"value": value, "workspace": await self._kept.save()})
        return value

    async def _attempt_at(self, name: str, act: Callable[[], Awaitable[Any]]) -> Any:
        _attempt.set(_Place(f"{name}@{self._ledger.epoch}:"))  # of this task alone
        return await act()

    async def checkpoint(self, phase: str) -> Sequence[Instruction]:
        self._checkpoints += 1
        name = f"checkpoint-{self._checkpoints}"
        passed = self._known.passed(name)
        if not passed:
            await self._steering.gate()
        self._place = _Place(f"{name}/")
        if name not in self._known.taken and (passed or not self._steering.mail):
            return ()
        self._steering.mail = passed and self._steering.mail
        return [_instruction(letter) for letter in await self._ledger.take(name, SAID)]

    async def changed(self) -> None:
        self._kept.touch()

    async def ask(self, question: Question) -> Answer:
        self._questions += 1
        name = f"ask-{self._questions}"
        self._known.reach(name)
        self._place = _Place(f"{name}/")
        if name in self._known.ended:
            return Answer(**self._known.ended[name]["value"])
        await self._steering.gate()
        await self._ledger.begin(name)
        asked = await self._ledger.ask(name, _request(question))
        self._steering.clock.stand("asking")
        try:
            await self._ledger.change(control=self._steering.clock.kept())
            await self._tell_of(name, "command_approval_requested", asked)
            settled = await self._until_settled(name, asked)
        finally:
            self._steering.clock.go("asking")
        answer = Answer(settled.body["status"] == "approved", str(settled.body.get("reason", "")))
        kind = "timed_out" if settled.body["status"] == "timed_out" else "resolved"
        event = Entry(f"command_approval_{kind}", f"{name}:{kind}", approval_fields(settled))
        await self._ledger.end(name, {"value": {"approved": answer.approved, "reason": answer.reason}}, [event])
        await self._ledger.change(control={"waiting": None, **self._steering.clock.kept()})
        return answer

    async def _until_settled(self, name: str, asked: Letter) -> Letter:
        """The letter once it is final, by a person's word or by its time. Parked when both take long."""
        began = asyncio.get_running_loop().time()
        while True:
            [asked] = [each for each in await self._ledger.letters(asked.number - 1) if each.number == asked.number]
            if asked.body["status"] in FINAL:
                return asked
            asked = await self._ledger.amend(asked.number, _moved_on) or asked
            if asked.body["status"] in FINAL:
                return asked
            if asked.body["status"] == "escalated":
                await self._tell_of(name, "command_approval_escalated", asked)
            await self._steering.gate()
            left_s = began + self._steering.park_after - asyncio.get_running_loop().time()
            if left_s <= 0 and not self._kept.busy:
                raise Parked("it waits for a person")
            await self._steering.news(max(0.01, min(_seconds_to(asked), left_s if left_s > 0 else 60.0)))

    async def _tell_of(self, name: str, type: str, letter: Letter) -> None:
        key = f"{name}:{type}"
        if key not in self._known.told:
            self._known.told.add(key)
            await self._ledger.tell(key, type, approval_fields(letter))


def command_hash(command: str) -> str:
    return hashlib.sha256(command.encode("utf-8", "surrogatepass")).hexdigest()


def approval_fields(letter: Letter) -> dict[str, Any]:
    """An approval as its events tell it."""
    body = letter.body
    told = {
        "command": body["command"],
        "commandHash": body["hash"],
        "agentStep": body["step"],
        "kind": body["kind"],
        "message": body.get("reason") or body["message"],
        "approvalId": str(letter.number),
        "approvalStatus": body["status"],
        "approvalExpiresAt": body["expires_at"],
    }
    for name, field in (("escalated_at", "approvalEscalatedAt"), ("timed_out_at", "approvalTimedOutAt")):
        if body.get(name):
            told[field] = body[name]
    return told


def _request(question: Question) -> dict[str, Any]:
    now = datetime.now(UTC)
    escalate_s = min(question.escalate_s, max(0.0, question.window_s - 1))
    return {
        "status": "pending",
        "command": question.command,
        "hash": command_hash(question.command),
        "kind": question.kind,
        "message": question.message,
        "step": question.step,
        "timeout_s": question.window_s,
        "escalate_after_s": escalate_s,
        "escalate_at": (now + timedelta(seconds=escalate_s)).isoformat(),
        "expires_at": (now + timedelta(seconds=question.window_s)).isoformat(),
    }


def _moved_on(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Where time alone has brought it."""
    now = datetime.now(UTC)
    if body["status"] in FINAL:
        return body
    if now >= datetime.fromisoformat(body["expires_at"]):
        return {**body, "status": "timed_out", "timed_out_at": now.isoformat(), "reason": TIMED_OUT}
    if body["status"] == "pending" and now >= datetime.fromisoformat(body["escalate_at"]):
        return {**body, "status": "escalated", "escalated_at": now.isoformat()}
    return body


def next_moment(body: Mapping[str, Any]) -> datetime:
    """When time will bring it on next."""
    return datetime.fromisoformat(body["escalate_at"] if body["status"] == "pending" else body["expires_at"])


def _seconds_to(letter: Letter) -> float:
    return (next_moment(letter.body) - datetime.now(UTC)).total_seconds()


def _instruction(letter: Letter) -> Instruction:
    text = str(letter.body.get("text", ""))
    return Instruction(str(letter.number), "continue" if letter.kind == "continue" else "message", text)
