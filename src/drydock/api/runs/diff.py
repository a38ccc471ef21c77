"""The route of a run's diff: whole or by turn, one file at a time, with white space or without."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from drydock.api.call import Call, Reply
from drydock.api.executions.doors import FILE_HEADERS, query_of
from drydock.api.guard import Guard
from drydock.api.router import Router
from drydock.api.runs.doors import find_run, number
from drydock.errors import Invalid, NotFound
from drydock.run.artefacts import Artefacts
from drydock.run.patch import of_file
from drydock.run.records import Records
from drydock.run.turns import Turns

DIFF = b"text/x-diff; charset=utf-8"


class DiffDoor:
    def __init__(self, records: Records, turns: Turns) -> None:
        self._records, self._artefacts, self._turns = records, Artefacts(records), turns

    def mount(self, router: Router, guard: Guard) -> None:
        router.add("GET", "/v1/runs/{id}/diff", guard.door("native", self.diff))

    async def diff(self, call: Call) -> None:
        """Whole or of one turn, with or without what changed in white space alone, of all files or of one. A run that
        has not ended shows what it has changed so far."""
        run = await find_run(self._records, call)
        query = query_of(call)
        turn = number(query, "turn", "0", 0, 10**6) or None
        ignore_space = _flag(query, "ignore_space")
        if run.ended and turn is None and not ignore_space:
            patch = await asyncio.to_thread(self._artefacts.patch, run)
        else:
            patch = await self._turns.diff(run, turn, ignore_space=ignore_space)
        if (path := query.get("path")) is not None:
            part = await asyncio.to_thread(of_file, patch.decode("utf-8", "surrogateescape"), path)
            if part is None:
                raise NotFound("the run's diff does not touch this file", where="path")
            patch = part.encode("utf-8", "surrogateescape")
        await call.reply(Reply(200, patch, DIFF, FILE_HEADERS))


def _flag(query: Mapping[str, str], name: str) -> bool:
    value = query.get(name, "false")
    if value not in ("true", "false"):
        raise Invalid(f"{name} is true or false", where=name)
    return value == "true"
