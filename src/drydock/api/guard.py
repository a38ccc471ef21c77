"""Who calls: the room `access` asked for each request, before its body is read."""

from __future__ import annotations

from collections.abc import Callable

from drydock.access.caller import Caller
from drydock.access.gate import Knock
from drydock.api.call import Call, Door

Admit = Callable[[Knock], Caller]


class Guard:
    def __init__(self, admit: Admit) -> None:
        self._admit = admit

    def check(self, call: Call, scope: str) -> Caller:
        """The caller, also noted in the call. Unauthorized or Forbidden otherwise."""
        client = call.scope.get("client")
        caller = self._admit(Knock.of(client[0] if client else "", call.scope["headers"]))
        caller.require(scope)
        call.caller = caller
        return caller

    def door(self, scope: str, door: Door) -> Door:
        """The door, for callers whose key reaches this scope."""

        async def guarded(call: Call) -> None:
            self.check(call, scope)
            await door(call)

        return guarded
