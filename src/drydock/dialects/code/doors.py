"""The routes of this contract, at /code or at the root."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from drydock.api.body import read_body
from drydock.api.call import Call, json_reply
from drydock.api.executions.desk import Desk
from drydock.api.executions.live import Order
from drydock.api.guard import Guard
from drydock.api.installing import Installing
from drydock.api.router import Router
from drydock.code.executor import Executor
from drydock.dialects.code import request
from drydock.dialects.code.environments import EnvironmentDoors
from drydock.dialects.code.health import Health
from drydock.dialects.code.reply import packages_header, reply_fields
from drydock.errors import BoxFailed
from drydock.settings import Settings

SCOPE = "code"


class CodeDoors:
    def __init__(self, settings: Settings, executor: Executor, desk: Desk, health: Health) -> None:
        self._settings = settings
        self._executor = executor
        self._desk = desk
        self._health = health
        self._environments = EnvironmentDoors(executor, Installing(executor, desk), settings.body_limit)

    def mount(self, router: Router, guard: Guard, base: str) -> None:
        router.add("POST", f"{base}/execute", guard.door(SCOPE, self.execute))
        router.add("GET HEAD", f"{base}/health", self.health)
        router.add("GET HEAD", f"{base}/ready", self.ready)
        router.add("GET", f"{base}/envs", guard.door(SCOPE, self._environments.page))
        router.add("POST", f"{base}/envs", guard.door(SCOPE, self._environments.create))
        router.add("DELETE", f"{base}/envs/{{name}}", guard.door(SCOPE, self._environments.delete))

    async def execute(self, call: Call) -> None:
        await self.run(call, request.read(await read_body(call, self._settings.body_limit)))

    async def run(self, call: Call, body: Mapping[str, Any]) -> None:
        """Everything after the JSON; also for a bare POST /execute whose body has been read already."""
        assert call.caller is not None, "a door without its guard"
        asked = request.check(body, self._settings, self._executor, call.caller.id)
        summary = {"limits": {"timeout_ms": asked.execution.timeout_ms}}
        live = self._desk.order(Order(asked.execution, "code", call.caller.id, label=asked.tool_name, summary=summary))
        call.extra.append((b"x-run-id", live.id.encode()))
        with call.if_gone(lambda: live.stop("cancelled")):
            result = await live.over()
        if result.ended.reason == "box_failed":
            raise BoxFailed(f"failed to create temp dir: {result.ended.detail or 'the box broke'}")
        headers = [] if result.packages is None else [packages_header(result.packages)]
        await call.reply(json_reply(200, reply_fields(asked, result), headers))

    async def health(self, call: Call) -> None:
        healthy, fields = self._health.fields()
        await call.reply(json_reply(200 if healthy else 503, fields))

    async def ready(self, call: Call) -> None:
        reason = self._health.not_ready()
        shown = {"ready": True} if reason is None else {"ready": False, "reason": reason}
        await call.reply(json_reply(200 if reason is None else 503, shown))
