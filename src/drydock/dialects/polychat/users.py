"""The users' API: runs started, listed, shown, watched and taken away. A user sees his own runs and no others."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

from drydock.api.call import Call, Door, Reply, json_reply
from drydock.api.executions.doors import NUMBER, caller_of, query_of
from drydock.api.guard import Guard
from drydock.api.router import Router
from drydock.api.runs.artefacts import ArtefactDoors
from drydock.api.runs.doors import find_run
from drydock.dialects.forms import FORMS, NotBuilt
from drydock.dialects.polychat.body import number_in, read_fields
from drydock.dialects.polychat.control import ControlDoors
from drydock.dialects.polychat.events import envelope
from drydock.dialects.polychat.fields import BadFields, Problem
from drydock.dialects.polychat.instructions import InstructionDoors
from drydock.dialects.polychat.order import Orders
from drydock.dialects.polychat.record import record_of
from drydock.dialects.polychat.starts import SCOPE, Quotas, Starts, forge_token
from drydock.dialects.polychat.stream import stream
from drydock.errors import Draining, Forbidden
from drydock.run.control import Control
from drydock.run.records import Records

LAST = 10**9
NOT_BUILT = {
    "/apps/sandbox/connections": "GET POST",
    "/apps/sandbox/connections/auto": "POST",
    "/apps/sandbox/connections/{installation}": "DELETE",
    "/apps/sandbox/connections/{installation}/repositories": "GET PUT",
    "/apps/sandbox/github/install-config": "GET",
    "/webhooks/github": "POST",
}
"""Connections and webhooks: known, and without a door in this version."""


class UserDoors:
    def __init__(
        self, records: Records, control: Control, orders: Orders, starts: Starts, quotas: Quotas, plan: str
    ) -> None:
        self._records, self._orders, self._starts, self._quotas = records, orders, starts, quotas
        self._control = ControlDoors(records, control)
        self._instructions = InstructionDoors(records, control)
        self._artefacts = ArtefactDoors(records)
        self._plan = plan

    def mount(self, router: Router, guard: Guard, base: str) -> None:
        runs = f"{base}/apps/sandbox/runs"
        doors: list[tuple[str, str, Door]] = [
            ("GET", runs, self.page),
            ("POST", f"{runs}/execute-stream", self.execute),
            ("GET", f"{runs}/{{id}}", self.show),
            ("GET", f"{runs}/{{id}}/events", self.events),
            ("GET", f"{runs}/{{id}}/events/stream", self.follow),
            ("GET", f"{runs}/{{id}}/events/ws", self.socket),
            ("GET", f"{runs}/{{id}}/artifacts", self._artefacts.page),
            ("GET", f"{runs}/{{id}}/artifacts/{{name}}", self._artefacts.artefact),
            ("GET", f"{runs}/{{id}}/control", self._control.show),
            ("POST", f"{runs}/{{id}}/pause", self._control.pause),
            ("POST", f"{runs}/{{id}}/resume", self._control.resume),
            ("POST", f"{runs}/{{id}}/cancel", self._control.cancel),
            ("GET", f"{runs}/{{id}}/instructions", self._instructions.page),
            ("POST", f"{runs}/{{id}}/instructions", self._instructions.say),
            ("GET", f"{base}/apps/sandbox/quota", self.quota),
            ("POST", f"{base}/sandbox/execute", self.proxy),
        ]
        doors += [(methods, base + path, not_built) for path, methods in NOT_BUILT.items()]
        for methods, path, door in doors:
            router.add(methods, path, self._for_members(guard, door))

    def _for_members(self, guard: Guard, door: Door) -> Door:
        async def checked(call: Call) -> None:
            caller = guard.check(call, SCOPE)
            if self._plan and caller.kind == "user" and caller.plan != self._plan:
                raise Forbidden(f"This needs the plan {self._plan}, which your token does not name.")
            await door(call)

        return checked

    async def page(self, call: Call) -> None:
        limit = number_in(call, "limit", 1, 100) or 30
        installation, repo = number_in(call, "installationId", 1, LAST), query_of(call).get("repo")

        def read() -> list[dict[str, Any]]:
            runs = self._records.runs.list(caller_of(call), installation=installation, repo=repo, limit=limit)
            return [record_of(self._records, run) for run in runs]

        await call.reply(json_reply(200, {"runs": await asyncio.to_thread(read)}))

    async def show(self, call: Call) -> None:
        run = await find_run(self._records, call)
        await call.reply(json_reply(200, {"run": await asyncio.to_thread(record_of, self._records, run)}))

    async def execute(self, call: Call) -> None:
        fields = await read_fields(call)
        ordered = self._orders.users(fields.body, "api")
        run = await self._starts.start(call, ordered, forge_token(call))
        await stream(call, self._records, run)

    async def proxy(self, call: Call) -> None:
        """What the worker would answer, for a caller who has logged in here."""
        fields = await read_fields(call)
        ordered = self._orders.users(fields.body, "proxy")
        try:
            run = await self._starts.start(call, ordered, forge_token(call))
        except Draining:
            return await call.reply(json_reply(503, {"error": "Sandbox not available"}))
        await self._starts.answer(call, run)

    async def events(self, call: Call) -> None:
        after = number_in(call, "after", 0, LAST) or 0
        run = await find_run(self._records, call)

        def read() -> list[dict[str, Any]]:
            shown, last = [], after
            while page := self._records.journal.read(run.id, last):
                shown += [envelope(run, event) for event in page]
                last = page[-1].seq
            return shown

        await call.reply(json_reply(200, {"events": await asyncio.to_thread(read)}))

    async def follow(self, call: Call) -> None:
        seen = call.header(b"last-event-id")
        if seen is not None and not NUMBER.fullmatch(seen):
            raise BadFields([Problem("Last-Event-ID", "must be the index of an event")])
        after = int(seen) if seen is not None else number_in(call, "after", 0, LAST) or 0
        await stream(call, self._records, await find_run(self._records, call), after)

    async def socket(self, call: Call) -> None:
        """The server speaks no websockets; the stream has the same events."""
        await find_run(self._records, call)
        told = {"error": "Expected a websocket, which this server does not speak. Use events/stream."}
        await call.reply(Reply(426, json_reply(426, told).body, headers=[(b"upgrade", b"websocket")]))

    async def quota(self, call: Call) -> None:
        assert call.caller is not None
        quota = self._quotas(call.caller)
        used = await asyncio.to_thread(self._records.runs.used, call.caller.id, datetime.now(UTC))
        limits = {"concurrent": quota.concurrent, "perMinute": quota.per_minute, "perDay": quota.per_day}
        counts = {"concurrent": used.concurrent, "perMinute": used.per_minute, "perDay": used.per_day}
        shown = {
            name: {"used": counts[name]} | ({} if limit is None else {"limit": limit}) for name, limit in limits.items()
        }
        await call.reply(json_reply(200, {"quota": shown}))


async def not_built(call: Call) -> None:
    call.shape = FORMS["polychat"]
    raise NotBuilt("polychat")
