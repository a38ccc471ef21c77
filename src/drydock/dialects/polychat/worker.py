"""POST /execute: one request, one run, answered by its stream or its result. The order of checks is the contract's."""

from __future__ import annotations

from typing import Any

from drydock.api.body import read_body
from drydock.api.call import Call
from drydock.api.guard import Guard
from drydock.api.router import Router
from drydock.api.text import parse
from drydock.dialects.polychat import shape
from drydock.dialects.polychat.fields import object_of
from drydock.dialects.polychat.order import Ordered, Orders, is_plain
from drydock.dialects.polychat.starts import SCOPE, Starts, forge_token
from drydock.errors import Conflict, Forbidden, Invalid, TooLarge, Unauthorized, Unavailable

BODY = 1 << 20
BEARER = "Bearer "
BAD = "Invalid task payload"


class WorkerDoor:
    def __init__(self, orders: Orders, starts: Starts, guard: Guard, has_secret: bool) -> None:
        self._orders, self._starts, self._guard, self._has_secret = orders, starts, guard, has_secret

    def mount(self, router: Router, base: str) -> None:
        router.add("POST", f"{base}/execute", self.execute)

    async def execute(self, call: Call) -> None:
        self._must_have_secret()
        raw = await read_body(call, BODY)
        try:
            body = parse(raw)
        except Invalid:
            raise Invalid("Invalid JSON body", where="body") from None
        await self.run(call, body, len(raw))

    async def run(self, call: Call, body: Any, size: int) -> None:
        """Everything after the JSON; also for a bare POST /execute whose body has been read already."""
        call.shape = shape.worker
        self._must_have_secret()
        if size > BODY:
            raise TooLarge(f"the body is over the limit of {BODY} bytes", where="body")
        try:
            ordered = self._orders.worker(object_of(body))
        except Invalid:
            raise Invalid(BAD, where="body") from None
        token = self._admit(call, ordered)
        if ordered.callback and not is_plain(ordered.callback):
            raise Invalid(BAD, where="polychatApiUrl")
        try:
            run = await self._starts.start(call, ordered, token)
        except Conflict as wrong:
            if wrong.where != "id":
                raise
            raise Invalid(BAD, where="runId") from None  # the client has a run of this id
        await self._starts.answer(call, run)

    def _admit(self, call: Call, ordered: Ordered) -> str:
        """The credential of the repository, once the caller is known for who he is."""
        sent = call.headers(b"authorization")
        has_bearer = len(sent) == 1 and sent[0].startswith(BEARER) and bool(sent[0][len(BEARER) :].strip())
        if not has_bearer and call.header(b"x-api-key") is None:
            raise Unauthorized("Missing authorization token")
        token = forge_token(call)
        if token is None:
            raise Invalid("Missing GitHub installation token", where="X-GitHub-Token")
        try:
            caller = self._guard.check(call, SCOPE)
        except Unauthorized:
            raise Unauthorized("Invalid sandbox authorization token") from None
        if ordered.user is not None and caller.kind == "user" and caller.id != f"user:{ordered.user}":
            raise Forbidden("Sandbox user does not match authorization token")
        return token

    def _must_have_secret(self) -> None:
        if not self._has_secret:
            raise Unavailable("Sandbox authentication secret is not configured")
