"""The routes by which what a run has made is taken away: its artefacts."""

from __future__ import annotations

import asyncio

from drydock.api.call import Call, Reply, json_reply
from drydock.api.executions.doors import FILE_HEADERS
from drydock.api.guard import Guard
from drydock.api.router import Router
from drydock.api.runs.doors import find_run
from drydock.errors import NotFound
from drydock.run.artefacts import NAMES, Artefacts, kind_of
from drydock.run.records import Records


class ArtefactDoors:
    def __init__(self, records: Records) -> None:
        self._records, self._artefacts = records, Artefacts(records)

    def mount(self, router: Router, guard: Guard) -> None:
        router.add("GET", "/v1/runs/{id}/artifacts", guard.door("native", self.page))
        router.add("GET", "/v1/runs/{id}/artifacts/{name}", guard.door("native", self.artefact))

    async def page(self, call: Call) -> None:
        run = await find_run(self._records, call)
        found = [name for name in NAMES if await asyncio.to_thread(self._artefacts.get, run, name) is not None]
        listed = [{"name": name, "url": f"{call.path}/{name}"} for name in found]
        await call.reply(json_reply(200, {"artifacts": listed}))

    async def artefact(self, call: Call) -> None:
        run = await find_run(self._records, call)
        data = await asyncio.to_thread(self._artefacts.get, run, call.params["name"])
        if data is None:
            hint = "It has them once it has ended; GET the list for their names."
            raise NotFound("the run has no such artifact", where="name", hint=hint)
        name = call.params["name"]
        headers = [(b"content-disposition", f'attachment; filename="{name}"'.encode()), *FILE_HEADERS]
        await call.reply(Reply(200, data, kind_of(name).encode(), headers))
