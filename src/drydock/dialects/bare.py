"""The bare paths: routing.md sections 2, 3 and 5."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from drydock import __version__
from drydock.api.body import read_body
from drydock.api.call import Call, Door, Reply, json_reply
from drydock.api.guard import Guard
from drydock.api.router import Router, UnknownPath, WrongMethod
from drydock.api.text import parse, type_name
from drydock.code.executor import Executor
from drydock.dialects.code.doors import SCOPE, CodeDoors
from drydock.dialects.code.health import Health
from drydock.dialects.forms import CORS, FORMS, PREFLIGHT, NotBuilt, NotJson
from drydock.dialects.polychat.doors import Polychat
from drydock.dialects.shapes import Choice, Dialect, Hints, choose
from drydock.errors import Forbidden, Invalid, TooLarge, Unauthorized
from drydock.settings import Settings

ELSEWHERE: Mapping[str, tuple[Dialect, str]] = {
    "/execute/sdk": ("executor", "POST"),
    "/deploy": ("executor", "POST"),
    "/github/commit": ("executor", "POST"),
    "/tasks/{id}/result": ("task", "GET DELETE"),
    "/apps/sandbox/{rest*}": ("polychat", "GET POST PUT PATCH DELETE"),
    "/sandbox/execute": ("polychat", "POST"),
    "/webhooks/github": ("polychat", "POST"),
}


class Bare:
    def __init__(
        self,
        settings: Settings,
        guard: Guard,
        code: CodeDoors,
        health: Health,
        executor: Executor,
        polychat: Polychat | None,
    ) -> None:
        """Without `polychat` this process serves no runs."""
        self._settings = settings
        self._polychat = polychat
        self._root: Dialect = settings.root
        self._guard = guard
        self._code = code
        self._health = health
        self._executor = executor
        self.router = Router("bare", FORMS[settings.root])
        self.router.add("POST", "/execute", self.execute)
        self.router.add("GET HEAD", "/health", self.health)
        self.users: Router | None = None if polychat is None else polychat.bare()
        for path, (dialect, methods) in ELSEWHERE.items():
            if dialect != "polychat" or polychat is None:
                self.router.add(methods, path, self._not_built(dialect))

    async def __call__(self, call: Call) -> None:
        _tell(call, self._root)
        try:
            await self._door(call.path)(call)
        except (UnknownPath, WrongMethod) as wrong:
            # A preflight is answered on every bare path that is known, and on any at all where executor is the root.
            if call.method != "OPTIONS" or (isinstance(wrong, UnknownPath) and self._root != "executor"):
                raise
            call.extra = []
            await call.reply(Reply(200, headers=PREFLIGHT))

    def _door(self, path: str) -> Door:
        theirs = path.startswith("/apps/sandbox/") or path in ("/sandbox/execute", "/webhooks/github")
        return self._to_users if theirs and self.users is not None else self.router

    async def _to_users(self, call: Call) -> None:
        assert self.users is not None
        _tell(call, "polychat")
        await self.users(call)

    async def execute(self, call: Call) -> None:
        refusal: Unauthorized | Forbidden | None = None
        try:
            self._guard.check(call, SCOPE)
        except (Unauthorized, Forbidden) as refused:
            refusal = refused  # told in the form of the contract that the body is written in
        try:
            limit = self._settings.body_limit if refusal is None else self._settings.body_limit_anonymous
            raw = await read_body(call, limit)
            body = _object(raw)
        except (TooLarge, NotJson):
            if refusal is not None:
                raise refusal from None
            raise
        choice = choose(body, _hints(call), self._root)
        call.shape = FORMS[choice.dialect]
        call.door = choice.dialect
        _tell(call, choice.dialect)
        if choice.dialect == "polychat" and self._polychat is not None:
            return await self._polychat.worker.run(call, body, len(raw))  # who calls is not its first question
        if refusal is not None:
            raise refusal
        if choice.dialect != "code":
            raise _no_door(choice, body)
        await self._code.run(call, body)

    async def health(self, call: Call) -> None:
        healthy, fields = self._health.fields()
        shown = {
            "status": fields.pop("status"),
            "service": "sandbox-executor",
            "platform": "drydock",
            "auth_method": "none",
            "timestamp": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "version": __version__,
            **fields,
            "checks": {"cloudflare": False, "github": False, "anthropic": False},
        }
        await call.reply(json_reply(200 if healthy else 503, shown, CORS))

    def _not_built(self, dialect: Dialect) -> Door:
        async def door(call: Call) -> None:
            call.shape = FORMS[dialect]
            call.door = dialect
            _tell(call, dialect)
            self._guard.check(call, SCOPE)
            raise NotBuilt(dialect)

        return door


def _object(raw: bytes) -> dict[str, Any]:
    try:
        body = parse(raw)
    except Invalid as wrong:
        raise NotJson(f"invalid request: {wrong.message}", where="body") from None
    if not isinstance(body, dict):
        raise NotJson(f"invalid request: the body must be an object, not {type_name(body)}", where="body")
    return body


def _no_door(choice: Choice, body: Mapping[str, Any]) -> Invalid | NotBuilt:
    if choice.rule == 12 and choice.dialect == "executor":
        hint = "A prompt without a repository goes to POST /execute/sdk." if "prompt" in body else None
        return Invalid("Task is required", where="task", hint=hint)
    return NotBuilt(choice.dialect)


def _hints(call: Call) -> Hints:
    return Hints(
        call.header(b"authorization") or "", call.header(b"accept") or "", call.header(b"x-github-token") is not None
    )


def _tell(call: Call, dialect: Dialect) -> None:
    name = b"x-drydock-dialect"
    call.extra = [header for header in call.extra if header[0] != name] + [(name, dialect.encode())]
