"""The contract's routes of named environments, section 10."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from drydock.api.body import read_body
from drydock.api.call import Call, Reply, json_reply
from drydock.api.executions.render import moment
from drydock.api.installing import Installing
from drydock.code.executor import Executor
from drydock.dialects.code import request
from drydock.dialects.code.shape import Missing
from drydock.errors import Invalid
from drydock.packages import specifiers
from drydock.packages.environments import Environment, check_name
from drydock.packages.wanted import ECOSYSTEMS, Name, Wanted

WITHIN_S = 600.0
"""For an installation that nobody gives a time limit."""


class EnvironmentDoors:
    def __init__(self, executor: Executor, installing: Installing, body_limit: int) -> None:
        self._executor, self._installing, self._body_limit = executor, installing, body_limit

    async def page(self, call: Call) -> None:
        found = self._installing.packages.environments.of(_owner(call)) if self._executor.packages else []
        await call.reply(json_reply(200, {"environments": [self._shown(each) for each in found]}))

    async def create(self, call: Call) -> None:
        body = request.read(await read_body(call, self._body_limit))
        name, wanted = self._asked(body, _owner(call))
        made, existed = await self._installing.create(call, name, wanted, within_s=WITHIN_S)
        await call.reply(json_reply(200 if existed else 201, self._shown(made)))

    async def delete(self, call: Call) -> None:
        name = Name(_owner(call), call.params["name"])
        if self._executor.packages is None or not self._executor.packages.environments.delete(name):
            raise Missing(f'environment "{name.name[:128]}" not found')
        await call.reply(Reply(204))

    def _asked(self, body: Mapping[str, Any], owner: str) -> tuple[Name, Wanted]:
        name, requirements = request.string(body, "name"), request.strings(body, "requirements")
        index, language = request.string(body, "python_index"), request.string(body, "language")
        ecosystem = ECOSYSTEMS.get(language or "python")
        if not name:
            raise Invalid("name is required", where="name")
        check_name(name, "name")
        if ecosystem is None or (language or "python") not in self._executor.languages:
            raise Invalid(f'language "{str(language)[:64]}" has no environments here', where="language")
        if not requirements:
            raise Invalid("requirements is required", where="requirements")
        specifiers.check(requirements, ecosystem, urls=self._installing.packages.allows_urls)
        index = index if ecosystem == "pypi" else None
        if index is not None:
            self._installing.packages.indexes.check(index, ecosystem, "python_index")
        return Name(owner, name), Wanted.of(ecosystem, requirements, index)

    def _shown(self, found: Environment) -> dict[str, Any]:
        tree = self._installing.packages.environments.tree(found)
        return {
            "name": found.name,
            "packages": list(tree.packages) if tree else [],
            "python_version": found.version if found.ecosystem == "pypi" else None,
            "created_at": moment(datetime.fromtimestamp(found.created_at, UTC)),
            "last_used_at": moment(datetime.fromtimestamp(found.last_used_at, UTC)),
            "size_bytes": tree.bytes if tree else 0,
        }


def _owner(call: Call) -> str:
    assert call.caller is not None, "a door without its guard"
    return call.caller.id
