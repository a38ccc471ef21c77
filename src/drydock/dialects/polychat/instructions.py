"""What people say to a run: messages, more steps, and yes or no to what it asks."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Any

from drydock.api.call import Call, json_reply
from drydock.api.executions.doors import NUMBER
from drydock.api.executions.render import moment
from drydock.api.runs.doors import find_run
from drydock.dialects.polychat.body import number_in, read_fields
from drydock.dialects.polychat.events import shown_id
from drydock.dialects.polychat.fields import BadFields, Fields, Problem
from drydock.errors import Forbidden, NotFound
from drydock.run.control import LONGEST_TEXT, Control
from drydock.run.records import Records
from drydock.store.inbox import Letter
from drydock.store.run import Run

KINDS = ("message", "continue", "approval_request", "approval_response")
ANSWERS = ("approved", "rejected")
MOST = 500
EVERY_LETTER = 100_000
LAST = 10**9


class InstructionDoors:
    def __init__(self, records: Records, control: Control) -> None:
        self._records, self._control = records, control

    async def page(self, call: Call) -> None:
        after = number_in(call, "after", 0, LAST) or 0
        run = await find_run(self._records, call)
        letters = await asyncio.to_thread(self._records.inbox.read, run.id, after, EVERY_LETTER)
        shown = [
            {"index": each.number, "recordedAt": moment(each.recorded_at), "instruction": instruction(run, each)}
            for each in letters[-MOST:]
        ]
        await call.reply(json_reply(200, {"instructions": shown}))

    async def say(self, call: Call) -> None:
        fields = await read_fields(call)
        said = _Said(fields)
        fields.done()
        run = await find_run(self._records, call)
        if run.ended:
            raise BadFields([Problem("runId", f"the run has {run.status}")])
        if said.kind == "approval_request":
            raise Forbidden("Only the run itself asks for approval.")
        letter = await self._answer(run, said) if said.kind == "approval_response" else await self._tell(run, said)
        await call.reply(json_reply(200, {"instruction": instruction(run, letter)}))

    async def _tell(self, run: Run, said: _Said) -> Letter:
        kind = "continue" if said.kind == "continue" else "message"
        return await self._control.say(run.id, run.caller, said.content, kind=kind, key=said.key)  # type: ignore[arg-type]

    async def _answer(self, run: Run, said: _Said) -> Letter:
        if not NUMBER.fullmatch(said.request):
            raise NotFound("there is no such question", where="requestId")
        answered = await self._control.answer(
            run.id,
            run.caller,
            int(said.request),
            approved=said.status == "approved",
            reason=said.content,
            key=said.key,
        )
        return answered.answer


class _Said:
    """The body of POST, checked."""

    def __init__(self, fields: Fields) -> None:
        self.kind: str = fields.one_of("kind", KINDS, "message")
        self.content = fields.text("content", LONGEST_TEXT)
        self.request = fields.text("requestId", 128)
        self.status: str | None = fields.one_of("approvalStatus", ANSWERS, None)
        self.key = fields.text("idempotencyKey", 100) or None
        command = fields.text("command", 500)
        fields.whole("timeoutSeconds", 5, 1800)
        fields.whole("escalateAfterSeconds", 1, 900)
        needed = {
            "message": {"content": self.content},
            "approval_request": {"command": command},
            "approval_response": {"requestId": self.request, "approvalStatus": self.status},
        }
        known = {problem.path for problem in fields.problems}
        for name, value in needed.get(self.kind, {}).items():
            if not value and name not in known:
                fields.note(name, f"is required for {self.kind}")


def instruction(run: Run, letter: Letter) -> dict[str, Any]:
    """As both routes show it; an approval's changes are seen at its old index."""
    body = letter.body
    shown: dict[str, Any] = {"id": str(letter.number), "runId": shown_id(run), "kind": letter.kind}
    if letter.kind == "approval_request":
        shown |= {
            "content": body["message"],
            "command": body["command"],
            "approvalStatus": body["status"],
            "timeoutSeconds": _seconds(body["timeout_s"]),
            "escalateAfterSeconds": _seconds(body["escalate_after_s"]),
            "expiresAt": _at(body["expires_at"]),
            "escalationAt": _at(body["escalate_at"]),
            "escalatedAt": _at(body.get("escalated_at")),
            "timedOutAt": _at(body.get("timed_out_at")),
            "resolvedAt": _at(body.get("resolved_at")),
            "resolutionReason": body.get("reason") or None,
        }
    elif letter.kind == "approval_response":
        shown |= {
            "content": body["reason"] or None,
            "requestId": str(body["number"]),
            "approvalStatus": "approved" if body["approved"] else "rejected",
        }
    else:
        shown["content"] = body.get("text") or None
    shown["createdAt"] = moment(letter.recorded_at)
    return {name: value for name, value in shown.items() if value is not None}


def _seconds(value: float) -> int | float:
    return int(value) if float(value).is_integer() else value


def _at(text: str | None) -> str | None:
    return None if text is None else moment(datetime.fromisoformat(text))
