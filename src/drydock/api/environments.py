"""The routes of /v1/environments: named layers of packages, each caller's own."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from drydock.api.body import read_body
from drydock.api.call import Call, Reply, json_reply
from drydock.api.executions.fields import Fields
from drydock.api.executions.render import moment
from drydock.api.guard import Guard
from drydock.api.installing import Installing
from drydock.api.router import Router
from drydock.api.text import parse
from drydock.code.executor import Executor
from drydock.errors import Invalid, NotFound
from drydock.packages import specifiers
from drydock.packages.environments import Environment, check_name
from drydock.packages.wanted import ECOSYSTEMS, Name, Wanted

FIELDS = ("name", "language", "requirements", "index", "timeout_ms")
DEFAULT_TIMEOUT_MS = 600_000
LANGUAGES = {ecosystem: language for language, ecosystem in ECOSYSTEMS.items()}


class EnvironmentDoors:
    def __init__(self, executor: Executor, installing: Installing, body_limit: int) -> None:
        self._executor, self._installing, self._body_limit = executor, installing, body_limit

    def mount(self, router: Router, guard: Guard) -> None:
        router.add("GET", "/v1/environments", guard.door("native", self.page))
        router.add("POST", "/v1/environments", guard.door("native", self.create))
        router.add("DELETE", "/v1/environments/{name}", guard.door("native", self.delete))

    async def page(self, call: Call) -> None:
        found = self._installing.packages.environments.of(_owner(call))
        await call.reply(json_reply(200, {"environments": [self._shown(each) for each in found]}))

    async def create(self, call: Call) -> None:
        fields = Fields(parse(await read_body(call, self._body_limit)), FIELDS)
        name = fields.string("name") or ""
        check_name(name, "name")
        wanted = self._wanted(fields)
        timeout_ms = fields.integer("timeout_ms", DEFAULT_TIMEOUT_MS, 1, 3_600_000)
        owned = Name(_owner(call), name)
        made, existed = await self._installing.create(call, owned, wanted, within_s=timeout_ms / 1000)
        await call.reply(json_reply(200 if existed else 201, self._shown(made)))

    async def delete(self, call: Call) -> None:
        if not self._installing.packages.environments.delete(Name(_owner(call), call.params["name"])):
            raise NotFound("there is no such environment", where="name", hint="GET /v1/environments lists them.")
        await call.reply(Reply(204))

    def _wanted(self, fields: Fields) -> Wanted:
        language = fields.string("language", "python") or ""
        if language not in ECOSYSTEMS or language not in self._executor.languages:
            raise Invalid(
                f"{language[:64]!r} has no environments here", where="language", hint="Ask for python or node."
            )
        requirements, index = fields.strings("requirements", specifiers.MOST), fields.string("index")
        if not requirements:
            raise Invalid("requirements is empty", where="requirements", hint="Name the packages that it shall hold.")
        specifiers.check(requirements, ECOSYSTEMS[language], urls=self._installing.packages.allows_urls)
        if index is not None:
            self._installing.packages.indexes.check(index, ECOSYSTEMS[language])
        return Wanted.of(ECOSYSTEMS[language], requirements, index)

    def _shown(self, found: Environment) -> dict[str, Any]:
        tree = self._installing.packages.environments.tree(found)
        return {
            "name": found.name,
            "language": LANGUAGES[found.ecosystem],
            "version": found.version,
            "requirements": found.requirements,
            "lock": list(tree.packages) if tree else [],
            "created_at": moment(datetime.fromtimestamp(found.created_at, UTC)),
            "last_used_at": moment(datetime.fromtimestamp(found.last_used_at, UTC)),
            "size_bytes": tree.bytes if tree else 0,
        }


def _owner(call: Call) -> str:
    assert call.caller is not None, "a door without its guard"
    return call.caller.id
