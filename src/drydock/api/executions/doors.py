"""The routes of /v1/executions."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, quote

from drydock.api.body import read_body
from drydock.api.call import Call, Headers, Reply, json_reply
from drydock.api.executions.archive import Archive
from drydock.api.executions.desk import Desk
from drydock.api.executions.events import last_number, of_live, of_record
from drydock.api.executions.live import Live
from drydock.api.executions.orders import Orders
from drydock.api.executions.render import render, summary
from drydock.api.guard import Guard
from drydock.api.router import Router
from drydock.api.text import parse
from drydock.errors import Invalid, NotFound
from drydock.store.execution import Execution, StoredFile

KEY = re.compile(r"[\x21-\x7e]{1,255}")
ID = re.compile(r"[0-9a-f-]{36}")
NUMBER = re.compile(r"[0-9]{1,9}")
PNG = b"\x89PNG\r\n\x1a\n"
STREAM = b"text/event-stream"
FILE_HEADERS: Headers = [
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'none'; sandbox"),
    (b"cache-control", b"private, no-store"),
]


class ExecutionDoors:
    def __init__(self, desk: Desk, archive: Archive, orders: Orders, body_limit: int) -> None:
        self._desk = desk
        self._archive = archive
        self._orders = orders
        self._body_limit = body_limit

    def mount(self, router: Router, guard: Guard) -> None:
        router.add("POST", "/v1/executions", guard.door("native", self.create))
        router.add("GET", "/v1/executions", guard.door("native", self.page))
        router.add("GET", "/v1/executions/{id}", guard.door("native", self.show))
        router.add("DELETE", "/v1/executions/{id}", guard.door("native", self.cancel))
        router.add("GET", "/v1/executions/{id}/events", guard.door("native", self.events))
        router.add("GET", "/v1/executions/{id}/files/{path*}", guard.door("native", self.file))

    async def create(self, call: Call) -> None:
        key = idempotency_key(call)
        body = parse(await read_body(call, self._body_limit))
        order, wait = self._orders.read(body, caller_of(call))
        streams = "text/event-stream" in (call.header(b"accept") or "")
        found: Live | Execution
        replayed = False
        if key is not None:
            canonical = json.dumps(body, sort_keys=True).encode()
            order = replace(order, idempotency_key=key, body_hash=hashlib.sha256(canonical).hexdigest())
        if key is not None or not (wait or streams):
            found, replayed = await self._desk.order_reserved(order)
        else:
            found = self._desk.order(order)
        call.extra.append((b"x-run-id", found.id.encode()))
        if replayed:
            call.extra.append((b"idempotency-replayed", b"true"))
        # Who leaves gives it up, unless it can be asked for again by its key.
        leaves = isinstance(found, Live) and key is None and (wait or streams)
        if streams:
            await self._stream(call, found, 0, cancel=leaves)
        elif wait:
            await self._answer_at_end(call, found, cancel=leaves)
        else:
            location = f"/v1/executions/{found.id}".encode()
            ended = found.state == "ended"
            shown = await self._shown(found)
            await call.reply(json_reply(200 if ended else 202, shown, [(b"location", location)]))

    async def show(self, call: Call) -> None:
        await call.reply(json_reply(200, await self._shown(await self._find(call))))

    async def cancel(self, call: Call) -> None:
        found = await self._find(call)
        if isinstance(found, Live):
            found.stop("cancelled")
        await self._answer_at_end(call, found, cancel=False)

    async def page(self, call: Call) -> None:
        query = query_of(call)
        limit = query.get("limit", "30")
        if not NUMBER.fullmatch(limit) or not 1 <= int(limit) <= 100:
            raise Invalid("limit must be a whole number from 1 to 100", where="limit")
        caller = caller_of(call)
        cursor = query.get("cursor") or None
        # What runs is newest of all, and most of it is not in the database: it stands before the first page. Looked at
        # before the database is, so that what ends in between is in one of the two.
        lives = self._desk.all_of(caller)
        page = await self._archive.page(caller, cursor, int(limit))
        rows = {row.id: row for row in page.rows}
        for live in lives:
            if live.id in rows or cursor is None:
                rows[live.id] = live.record()
        newest_first = sorted(rows.values(), key=lambda row: (row.created_at, row.id), reverse=True)
        shown = {"executions": [summary(row) for row in newest_first], "next_cursor": page.cursor}
        await call.reply(json_reply(200, shown))

    async def events(self, call: Call) -> None:
        query = query_of(call)
        after = call.header(b"last-event-id") or query.get("after") or "0"
        if not NUMBER.fullmatch(after):
            raise Invalid("the number of the last event seen must be a whole number", where="Last-Event-ID")
        await self._stream(call, await self._find(call), int(after), cancel=False)

    async def file(self, call: Call) -> None:
        found = await self._find(call)
        row = found.record() if isinstance(found, Live) else found
        name = call.params["path"]
        for file in row.files:
            if file.name == name:
                data = await self._content(found, file)
                if data is not None:
                    return await call.reply(_file_reply(name, data))
        raise NotFound("the execution has no such file", where="path", hint="GET the execution for its list of files.")

    async def _find(self, call: Call) -> Live | Execution:
        execution_id = call.params["id"]
        caller = caller_of(call)
        found: Live | Execution | None = None
        if ID.fullmatch(execution_id):
            found = self._desk.find(caller, execution_id) or await self._archive.get(caller, execution_id)
        if found is None:
            raise NotFound("there is no such execution", where="id")
        return found

    async def _shown(self, found: Live | Execution) -> dict[str, Any]:
        row = found.record() if isinstance(found, Live) else found
        return await render(row, lambda file: self._content(found, file))

    async def _content(self, found: Live | Execution, file: StoredFile) -> bytes | None:
        if isinstance(found, Live):
            return found.result.files.get(file.name) if found.result else None
        return await self._archive.content(file)

    async def _answer_at_end(self, call: Call, found: Live | Execution, *, cancel: bool) -> None:
        if isinstance(found, Live):
            live = found
            with call.if_gone(lambda: live.stop("cancelled") if cancel else None):
                await live.over()
        await call.reply(json_reply(200, await self._shown(found)))

    async def _stream(self, call: Call, found: Live | Execution, after: int, *, cancel: bool) -> None:
        if not isinstance(found, Live):
            if after >= last_number(found):
                return await call.reply(Reply(204))  # all was seen: tells an EventSource to stop coming back
            await begin_stream(call)
            return await _send_all(call, of_record(found, after))
        gone = False

        def leave() -> None:
            nonlocal gone
            gone = True
            if cancel:
                found.stop("cancelled")
            found.tell()

        with call.if_gone(leave):
            await begin_stream(call)
            events: AsyncIterator[bytes] = of_live(found, after)
            async for event in events:
                await call.write(event)
                if gone:
                    return
        await call.write(b"", more=False)


async def begin_stream(call: Call) -> None:
    await call.begin(
        200,
        [
            (b"content-type", STREAM + b"; charset=utf-8"),
            (b"cache-control", b"no-store"),
            (b"x-accel-buffering", b"no"),
        ],
    )
    await call.write(b"")  # the head at once: the first event may be long in coming


async def _send_all(call: Call, events: Iterator[bytes]) -> None:
    for event in events:
        await call.write(event)
    await call.write(b"", more=False)


def _file_reply(name: str, data: bytes) -> Reply:
    kind = b"image/png" if data.startswith(PNG) else b"application/octet-stream"
    file_name = quote(name.rsplit("/", 1)[-1]).encode()
    return Reply(
        200, data, kind, [(b"content-disposition", b"attachment; filename*=UTF-8''" + file_name), *FILE_HEADERS]
    )


def idempotency_key(call: Call) -> str | None:
    keys = call.headers(b"idempotency-key")
    if len(keys) > 1:
        raise Invalid("there are two Idempotency-Key headers", where="Idempotency-Key", hint="Send one.")
    if keys and not KEY.fullmatch(keys[0]):
        raise Invalid("an Idempotency-Key has 1 to 255 visible ASCII characters", where="Idempotency-Key")
    return keys[0] if keys else None


def caller_of(call: Call) -> str:
    assert call.caller is not None, "a door without its guard"
    return call.caller.id


def query_of(call: Call) -> dict[str, str]:
    try:
        pairs = parse_qs(call.scope["query_string"].decode("ascii"), max_num_fields=20)
    except ValueError:
        raise Invalid("the query cannot be read", where="query") from None
    return {name: values[0] for name, values in pairs.items()}
