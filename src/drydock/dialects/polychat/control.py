"""Pause, resume and cancel: always 200, however often they are said; and what a worker asks of them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from drydock.api.call import Call, json_reply
from drydock.api.runs.doors import find_run
from drydock.dialects.polychat.body import read_fields
from drydock.dialects.polychat.record import control_of, record_of
from drydock.run.control import LONGEST_REASON, Changed, Control
from drydock.run.records import Records

Change = Callable[[str, str, str], Awaitable[Changed]]


class ControlDoors:
    def __init__(self, records: Records, control: Control) -> None:
        self._records, self._control = records, control

    async def show(self, call: Call) -> None:
        await call.reply(json_reply(200, control_of(await find_run(self._records, call))))

    async def pause(self, call: Call) -> None:
        done = await self._change(call, self._control.pause, "Paused by user request")
        if done.was == "paused":
            return await self._tell(call, done, {"paused": True, "message": "Run is already paused"})
        message = "Pause requested" if done.changed else _already(done)
        await self._tell(call, done, {"paused": done.changed, "message": message})

    async def resume(self, call: Call) -> None:
        done = await self._change(call, self._control.resume, "Resumed by user request")
        still = _already(done) if done.run.ended else "Run is not paused"
        await self._tell(call, done, {"resumed": done.changed, "message": "Run resumed" if done.changed else still})

    async def cancel(self, call: Call) -> None:
        done = await self._change(call, self._control.cancel, "Cancelled by user request")
        if done.changed:
            interrupted = done.run.worker is not None and not done.run.control.get("parked")
            told = {"cancelled": True, "aborted": interrupted, "message": "Cancellation requested"}
        elif done.was == "cancelled":
            told = {"cancelled": True, "aborted": False, "message": "Run is already cancelled"}
        else:
            told = {"cancelled": False, "aborted": False, "message": _already(done)}
        await self._tell(call, done, told)

    async def _change(self, call: Call, change: Change, default: str) -> Changed:
        fields = await read_fields(call)
        reason = fields.text("reason", LONGEST_REASON)
        fields.done()
        run = await find_run(self._records, call)
        return await change(run.id, run.caller, reason or default)

    async def _tell(self, call: Call, done: Changed, told: dict[str, Any]) -> None:
        run = await asyncio.to_thread(record_of, self._records, done.run)
        await call.reply(json_reply(200, {**told, "run": run}))


def _already(done: Changed) -> str:
    return f"Run already {done.run.status}"
