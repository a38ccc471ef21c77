"""The routes of /v1/runs that steer them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from drydock.api.body import read_body
from drydock.api.call import Call, json_reply
from drydock.api.executions.doors import NUMBER
from drydock.api.executions.fields import Fields
from drydock.api.guard import Guard
from drydock.api.router import Router
from drydock.api.runs.doors import find_run
from drydock.api.runs.render import approval, render
from drydock.api.text import parse
from drydock.errors import Invalid, NotFound
from drydock.run.control import LONGEST_TEXT, Changed, Control, checked_reason
from drydock.run.records import Records

LONGEST_KEY = 100


class ControlDoors:
    def __init__(self, records: Records, control: Control, body_limit: int) -> None:
        self._records, self._control, self._body_limit = records, control, body_limit

    def mount(self, router: Router, guard: Guard) -> None:
        for name, door in (
            ("pause", self.pause),
            ("resume", self.resume),
            ("cancel", self.cancel),
            ("stop-command", self.stop_command),
            ("messages", self.say),
            ("approvals/{number}", self.answer),
        ):
            router.add("POST", f"/v1/runs/{{id}}/{name}", guard.door("native", door))

    async def pause(self, call: Call) -> None:
        await self._change(call, self._control.pause, "Paused by user request")

    async def resume(self, call: Call) -> None:
        await self._change(call, self._control.resume, "Resumed by user request")

    async def cancel(self, call: Call) -> None:
        await self._change(call, self._control.cancel, "Cancelled by user request")

    async def _change(self, call: Call, change: Callable[[str, str, str], Awaitable[Changed]], default: str) -> None:
        reason = checked_reason((await self._fields(call, "reason")).string("reason"), default)
        run = await find_run(self._records, call)
        done = await change(run.id, run.caller, reason)
        await call.reply(json_reply(200, {"changed": done.changed, "was": done.was, "run": render(done.run)}))

    async def stop_command(self, call: Call) -> None:
        await self._fields(call)
        run = await find_run(self._records, call)
        done = await self._control.stop_command(run.id, run.caller)
        await call.reply(json_reply(200, {"changed": done.changed, "was": done.was, "run": render(done.run)}))

    async def say(self, call: Call) -> None:
        fields = await self._fields(call, "text", "kind", "key")
        kind, text, key = fields.string("kind", "message"), fields.string("text", "") or "", fields.string("key")
        if kind not in ("message", "continue"):
            raise Invalid(f"{kind!r:.40} is no kind of message", where="kind", hint="message or continue.")
        if (kind == "message" and not text.strip()) or len(text) > LONGEST_TEXT:
            raise Invalid(f"text has 1 to {LONGEST_TEXT} characters", where="text")
        if key is not None and not 1 <= len(key) <= LONGEST_KEY:
            raise Invalid(f"key has 1 to {LONGEST_KEY} characters", where="key")
        run = await find_run(self._records, call)
        letter = await self._control.say(
            run.id, run.caller, text, kind="continue" if kind == "continue" else "message", key=key
        )
        await call.reply(json_reply(200, {"number": letter.number, "kind": letter.kind, "text": text}))

    async def answer(self, call: Call) -> None:
        fields = await self._fields(call, "approved", "reason", "hash")
        if not fields.has("approved"):
            raise Invalid("approved is missing", where="approved", hint="Send true or false.")
        approved = fields.boolean("approved", False)
        number = call.params["number"]
        if not NUMBER.fullmatch(number):
            raise NotFound("there is no such question", where="number")
        run = await find_run(self._records, call)
        answered = await self._control.answer(
            run.id,
            run.caller,
            int(number),
            approved=approved,
            reason=checked_reason(fields.string("reason"), ""),
            command_hash=fields.string("hash"),
        )
        await call.reply(json_reply(200, approval(answered.question)))

    async def _fields(self, call: Call, *known: str) -> Fields:
        """An empty body counts as an empty object."""
        body = await read_body(call, self._body_limit)
        return Fields(parse(body) if body.strip() else {}, known)
