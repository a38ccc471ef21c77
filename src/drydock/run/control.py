"""What people do to a run: pause, resume, cancel, say something, answer a question, end one command.

Each is one transaction on the record and the inbox, and then a wake-up; whoever carries the run reads it there. All of
them may be said again without harm.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from sqlalchemy import Connection

from drydock.errors import Conflict, Invalid, NotFound
from drydock.run.desk import FINAL
from drydock.run.ending import LIVING
from drydock.run.records import Records
from drydock.run.wakes import Wakes
from drydock.run.worker import close_cancelled
from drydock.store.inbox import Letter
from drydock.store.journal import Entry
from drydock.store.notices import notify
from drydock.store.run import Event, Run, Status

LONGEST_REASON = 280
LONGEST_TEXT = 2000
Said = Literal["message", "continue"]


@dataclass(frozen=True, slots=True)
class Changed:
    """What came of it: the run as it is now, and whether this call has changed it."""

    run: Run
    changed: bool
    was: Status


@dataclass(frozen=True, slots=True)
class Answered:
    question: Letter
    """As it is settled."""
    answer: Letter
    """What was said, by whoever said it."""


class _Held:
    """A run held within one transaction, and what is changed in it."""

    def __init__(self, records: Records, connection: Connection, run: Run) -> None:
        self.run, self.was, self.changed = run, run.status, False
        self.fresh: list[Event] = []
        self.records, self.connection = records, connection

    def change(self, control: Mapping[str, Any], *, only_if: Sequence[Status] | None = None, **fields: Any) -> None:
        became = self.records.runs.change(
            self.run.id, only_if=only_if, control=control, connection=self.connection, **fields
        )
        if became is not None:
            self.run, self.changed = became, True

    def tell(self, key: str, type: str, data: Mapping[str, Any]) -> None:
        _, fresh = self.records.journal.write(self.connection, self.run.id, [Entry(type, key, data)], epoch=None)
        self.fresh.extend(fresh)

    def must_live(self) -> None:
        if self.run.ended:
            raise Conflict(f"the run has {self.run.status}", where="id", hint="Start a run that follows it.")


class Control:
    def __init__(self, records: Records, wakes: Wakes, enqueue: Callable[[Run], Awaitable[None]]) -> None:
        """`enqueue` takes a run up again that had been parked."""
        self._records, self._wakes, self._enqueue = records, wakes, enqueue

    async def pause(self, run: str, caller: str, reason: str = "Paused by user request") -> Changed:
        def write(held: _Held) -> None:
            control = {"paused_at": _now(), "pause_reason": reason, "pauses": held.run.control.get("pauses", 0) + 1}
            held.change(control, only_if=("queued", "running"), status="paused", updated_at=datetime.now(UTC))

        return await self._do(run, caller, write)

    async def resume(self, run: str, caller: str, reason: str = "Resumed by user request") -> Changed:
        def write(held: _Held) -> None:
            control = {"resumed_at": _now(), "resume_reason": reason}
            status = "queued" if held.run.started_at is None else "running"
            held.change(control, only_if=("paused",), status=status, updated_at=datetime.now(UTC))

        return await self._do(run, caller, write, unparks=True)

    async def cancel(self, run: str, caller: str, reason: str = "Cancelled by user request") -> Changed:
        def write(held: _Held) -> None:
            now = datetime.now(UTC)
            control = {"cancel_requested_at": _now(), "cancellation_reason": reason, "waiting": None}
            held.change(control, only_if=LIVING, status="cancelled", ended_at=now, updated_at=now)

        done = await self._do(run, caller, write)
        if done.changed and (done.run.worker is None or done.run.control.get("parked")):
            await asyncio.to_thread(close_cancelled, self._records, run)
        return done

    async def say(self, run: str, caller: str, text: str, *, kind: Said = "message", key: str | None = None) -> Letter:
        """A person's words, given to the agent before its next decision."""
        letters: list[Letter] = []

        def write(held: _Held) -> None:
            held.must_live()
            letter, fresh = self._records.inbox.write(held.connection, run, kind, {"text": text}, key=_own(key))
            letters.append(letter)
            if fresh:
                told = {"instructionId": str(letter.number), "instructionKind": kind, "instructionContent": text[:500]}
                held.tell(f"said:{letter.number}", "run_instruction_submitted", told)

        await self._do(run, caller, write)
        return letters[0]

    async def answer(
        self,
        run: str,
        caller: str,
        number: int,
        *,
        approved: bool,
        reason: str = "",
        command_hash: str | None = None,
        key: str | None = None,
    ) -> Answered:
        """A person's yes or no to one question. Conflict when it is final, or when it is about another command."""
        done: list[Answered] = []

        def settle(body: Mapping[str, Any]) -> Mapping[str, Any]:
            if "command" not in body:
                raise NotFound("there is no such question", where="number")
            if body["status"] in FINAL:
                raise Conflict(f"the question is {body['status']} already", where="number", hint="Read it again.")
            if command_hash is not None and command_hash != body["hash"]:
                raise Conflict("the answer is about another command", where="hash", hint="Read the question again.")
            status = "approved" if approved else "rejected"
            return {**body, "status": status, "reason": reason, "resolved_at": _now()}

        def write(held: _Held) -> None:
            held.must_live()
            inbox = self._records.inbox
            said = {"number": number, "approved": approved, "reason": reason}
            answer, fresh = inbox.write(held.connection, run, "approval_response", said, key=_own(key))
            about = int(answer.body.get("number", number))
            question = inbox.amend(held.connection, run, about, settle if fresh else dict)
            if question is None:
                raise NotFound("there is no such question", where="number")
            done.append(Answered(question, answer))
            if fresh:
                held.tell(f"said:{answer.number}", "run_instruction_submitted", _told_answer(done[0]))
                held.change({"waiting": None})

        await self._do(run, caller, write, unparks=True)
        return done[0]

    async def stop_command(self, run: str, caller: str) -> Changed:
        """End what runs now, and nothing else: the agent is told that it was interrupted."""

        def write(held: _Held) -> None:
            held.must_live()
            held.change({"stopped_commands": held.run.control.get("stopped_commands", 0) + 1})

        return await self._do(run, caller, write)

    async def _do(self, run: str, caller: str, write: Callable[[_Held], None], *, unparks: bool = False) -> Changed:
        def work() -> tuple[_Held, bool]:
            with self._records.database.write() as connection:
                found = self._records.runs.hold(connection, run)
                if found is None or found.caller != caller:
                    raise NotFound("there is no such run", where="id")
                held = _Held(self._records, connection, found)
                write(held)
                again = unparks and held.changed and bool(held.run.control.get("parked"))
                if again:
                    held.change({"parked": False}, segment=held.run.segment + 1)
                notify(connection, "wake", run)
            self._records.journal.publish(run, held.fresh)
            return held, again

        held, again = await asyncio.to_thread(work)
        self._wakes.wake(run)
        if again:
            await self._enqueue(held.run)
        return Changed(held.run, held.changed, held.was)


def checked_reason(reason: str | None, default: str) -> str:
    """Of a pause, a resumption or a cancellation: 1 to 280 characters once it is trimmed."""
    if reason is None:
        return default
    trimmed = reason.strip()
    if not 1 <= len(trimmed) <= LONGEST_REASON:
        raise Invalid(f"reason has 1 to {LONGEST_REASON} characters", where="reason")
    return trimmed


def _told_answer(answered: Answered) -> Mapping[str, Any]:
    answer, question = answered.answer, answered.question
    return {
        "instructionId": str(answer.number),
        "instructionKind": answer.kind,
        "instructionContent": answer.body["reason"] or None,
        "command": question.body["command"],
        "approvalStatus": question.body["status"],
        "approvalId": str(question.number),
    }


def _own(key: str | None) -> str | None:
    """A person's key, kept apart from those under which the run itself puts its questions there."""
    return None if key is None else "said:" + hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
