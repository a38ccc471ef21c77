"""The routes of /v1/runs that start runs and show them."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncGenerator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, get_args

from drydock.api.body import read_body
from drydock.api.call import Call, Reply, json_reply
from drydock.api.executions.doors import ID, NUMBER, begin_stream, caller_of, idempotency_key, query_of
from drydock.api.executions.events import PING
from drydock.api.guard import Guard
from drydock.api.router import Router
from drydock.api.runs.orders import RunOrders
from drydock.api.runs.render import event, render, summary, waiting
from drydock.api.runs.stream import STREAM, frames, send, until_ended
from drydock.api.text import parse, write
from drydock.errors import Invalid, NotFound
from drydock.forge.git.credential import of_token
from drydock.run.admission import Admission
from drydock.run.ending import TERMINAL
from drydock.run.records import Records
from drydock.store.run import Run, Status

STATUSES: tuple[Status, ...] = get_args(Status)
TOKEN = b"x-forge-token"
"""What the repository's forge wants to see of whoever clones and pushes. In no body, so in no record."""
MOST_EVENTS = 1000
CALM_S = 0.2
"""Between two looks at what waits, however much is told meanwhile."""


class RunDoors:
    def __init__(self, records: Records, admission: Admission, orders: RunOrders, body_limit: int) -> None:
        self._records, self._admission, self._orders, self._body_limit = records, admission, orders, body_limit

    def mount(self, router: Router, guard: Guard) -> None:
        router.add("POST", "/v1/runs", guard.door("native", self.create))
        router.add("GET", "/v1/runs", guard.door("native", self.page))
        router.add("GET", "/v1/runs/{id}", guard.door("native", self.show))
        router.add("GET", "/v1/runs/{id}/events", guard.door("native", self.events))
        router.add("GET", "/v1/waiting", guard.door("native", self.waiting))

    async def create(self, call: Call) -> None:
        key = idempotency_key(call)
        body = parse(await read_body(call, self._body_limit))
        asked, wait = await asyncio.to_thread(self._orders.read, body, caller_of(call))
        canonical = json.dumps(body, sort_keys=True).encode()
        body_hash = hashlib.sha256(canonical).hexdigest()
        token = call.header(TOKEN)
        if token is not None:
            of_token(token)
        asked = replace(asked, idempotency_key=key, body_hash=body_hash, credential=token)
        started = await self._admission.start(asked)
        call.extra.append((b"x-run-id", started.run.id.encode()))
        if started.replayed:
            call.extra.append((b"idempotency-replayed", b"true"))
        if STREAM in (call.header(b"accept") or ""):
            return await self._stream(call, started.run, 0)
        run = await until_ended(call, self._records, started.run) if wait else started.run
        location = [(b"location", f"/v1/runs/{run.id}".encode())]
        await call.reply(json_reply(200 if run.ended else 202, render(run), location))

    async def show(self, call: Call) -> None:
        await call.reply(json_reply(200, render(await find_run(self._records, call))))

    async def page(self, call: Call) -> None:
        query = query_of(call)
        limit = number(query, "limit", "30", 1, 100)
        status = [each for each in query.get("status", "").split(",") if each]
        if unknown := [each for each in status if each not in STATUSES]:
            raise Invalid(f"{unknown[0]!r:.40} is no status", where="status", hint=f"Any of: {', '.join(STATUSES)}.")
        found = await asyncio.to_thread(
            lambda: self._records.runs.list(
                caller_of(call),
                repo=query.get("repo") or None,
                status=[each for each in STATUSES if each in status],
                before=_cursor(query.get("cursor")),
                limit=limit,
            )
        )
        next_cursor = f"{found[-1].updated_at.isoformat()}_{found[-1].id}" if len(found) == limit else None
        await call.reply(json_reply(200, {"runs": [summary(run) for run in found], "next_cursor": next_cursor}))

    async def events(self, call: Call) -> None:
        """Live, unless JSON is accepted alone or something is looked for."""
        query = query_of(call)
        run = await find_run(self._records, call)
        if "q" in query or "kind" in query or "before" in query:
            return await self._search(call, run, query)
        after = call.header(b"last-event-id") or query.get("after") or "0"
        if not NUMBER.fullmatch(after):
            raise Invalid("the number of the last event seen must be a whole number", where="Last-Event-ID")
        if (call.header(b"accept") or "").startswith("application/json"):
            limit = number(query, "limit", "100", 1, MOST_EVENTS)
            found = await asyncio.to_thread(self._records.journal.read, run.id, int(after), limit)
            return await call.reply(json_reply(200, {"events": [event(each) for each in found]}))
        if run.ended and int(after) >= run.last_seq and await self._is_told(run):
            return await call.reply(Reply(204))  # all was seen: tells an EventSource to stop coming back
        await self._stream(call, run, int(after))

    async def _is_told(self, run: Run) -> bool:
        """A run that has just been cancelled may have its last event still before it."""
        last = await asyncio.to_thread(self._records.journal.last, run.id, 1)
        return bool(last) and last[0].type in TERMINAL

    async def _search(self, call: Call, run: Run, query: Mapping[str, str]) -> None:
        limit = number(query, "limit", "100", 1, MOST_EVENTS)
        before = number(query, "before", "0", 0, 10**9) or None
        found = await asyncio.to_thread(
            lambda: self._records.journal.search(
                run.id,
                kinds=[each for each in query.get("kind", "").split(",") if each],
                text=query.get("q", ""),
                before=before,
                limit=limit,
            )
        )
        await call.reply(json_reply(200, {"events": [event(each) for each in found]}))

    async def waiting(self, call: Call) -> None:
        """What waits for a person, over all runs of the caller: as it is now, or as a stream of each change of it."""
        caller = caller_of(call)
        if STREAM not in (call.header(b"accept") or ""):
            return await call.reply(json_reply(200, {"waiting": await self._asked(caller)}))
        await begin_stream(call)
        await send(call, self._asking(caller))

    async def _asking(self, caller: str) -> AsyncGenerator[bytes, None]:
        watcher = self._records.followers.watch()
        shown: list[dict[str, Any]] | None = None
        try:
            while True:
                watcher.clear()
                asked = await self._asked(caller)
                if asked != shown:
                    shown = asked
                    yield b"event: waiting\ndata: %s\n\n" % write({"waiting": asked})
                try:
                    await asyncio.wait_for(watcher.wait(), PING)
                except TimeoutError:
                    yield b": ping\n\n"
                    continue
                await asyncio.sleep(CALM_S)
        finally:
            self._records.followers.unwatch(watcher)

    async def _asked(self, caller: str) -> list[dict[str, Any]]:
        found = await asyncio.to_thread(self._records.runs.list_living, caller)
        return [
            {"run": run.id, "task": run.spec["task"], "repo": run.spec["repo"], **shown}
            for run in found
            if (shown := waiting(run.control.get("waiting"))) is not None
        ]

    async def _stream(self, call: Call, run: Run, after: int) -> None:
        await begin_stream(call)
        await send(call, frames(self._records.followers, run.id, after))


async def find_run(records: Records, call: Call) -> Run:
    """By its own id or by the one that its caller gave it."""
    name, caller = call.params["id"], caller_of(call)
    found: Run | None = None
    if ID.fullmatch(name):
        found = await asyncio.to_thread(records.runs.get, name, caller)
    if found is None and len(name) <= 128:
        found = await asyncio.to_thread(records.runs.by_client_id, caller, name)
    if found is None:
        raise NotFound("there is no such run", where="id", hint="GET /v1/runs lists yours.")
    return found


def number(query: Mapping[str, str], name: str, default: str, least: int, most: int) -> int:
    text = query.get(name) or default
    if not NUMBER.fullmatch(text) or not least <= int(text) <= most:
        raise Invalid(f"{name} must be a whole number from {least} to {most}", where=name)
    return int(text)


def _cursor(text: str | None) -> tuple[datetime, str] | None:
    if not text:
        return None
    moment, _, last = text.rpartition("_")
    try:
        when = datetime.fromisoformat(moment)
    except ValueError:
        when = None
    if when is None or when.tzinfo is None or not ID.fullmatch(last):
        raise Invalid("the cursor is none of ours", where="cursor", hint="Use `next_cursor` of the page before.")
    return when, last
