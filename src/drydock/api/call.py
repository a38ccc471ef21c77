"""One request on its way through the doors, and the reply that it gets."""

from __future__ import annotations

import asyncio
import re
import uuid
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from starlette.types import Receive, Scope, Send

from drydock.access.caller import Caller
from drydock.api.text import write
from drydock.errors import DrydockError

Headers = list[tuple[bytes, bytes]]
JSON = b"application/json"
TEXT = b"text/plain; charset=utf-8"
OWN_ID = re.compile(rb"[A-Za-z0-9._:-]{1,128}")


class ClientGone(Exception):
    """The client hung up; there is nobody to answer."""


@dataclass(slots=True)
class Reply:
    status: int
    body: bytes = b""
    kind: bytes = JSON
    headers: Headers = field(default_factory=list)


def json_reply(status: int, value: object, headers: Headers | None = None) -> Reply:
    return Reply(status, write(value) + b"\n", JSON, headers or [])


class Call:
    __slots__ = (
        "_send",
        "caller",
        "door",
        "extra",
        "method",
        "params",
        "path",
        "receive",
        "request_id",
        "scope",
        "shape",
        "status",
    )

    def __init__(self, scope: Scope, receive: Receive, send: Send, shape: Shape) -> None:
        self.scope = scope
        self.receive = receive
        self._send = send
        self.shape = shape
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.params: Mapping[str, str] = {}
        self.caller: Caller | None = None
        self.door = "none"
        """Name of the door for the metrics; few different ones, never the path."""
        self.status = 0
        """Of the reply, once it has begun."""
        own = self.header(b"x-request-id")
        self.request_id = own if own is not None and OWN_ID.fullmatch(own.encode("latin-1")) else str(uuid.uuid4())
        self.extra: Headers = [(b"x-request-id", self.request_id.encode())]
        """Headers of whatever reply it will be."""

    def header(self, name: bytes) -> str | None:
        for known, value in self.scope["headers"]:
            if known == name:
                return str(value.decode("latin-1"))
        return None

    def headers(self, name: bytes) -> list[str]:
        return [value.decode("latin-1") for known, value in self.scope["headers"] if known == name]

    async def reply(self, reply: Reply) -> None:
        headers = [
            (b"content-type", reply.kind),
            (b"content-length", str(len(reply.body)).encode()),
            *reply.headers,
        ]
        if reply.status == 204:
            headers = reply.headers
        await self.begin(reply.status, headers)
        await self._send({"type": "http.response.body", "body": reply.body})

    async def begin(self, status: int, headers: Headers) -> None:
        """The head, which goes out with the first `write`."""
        self.status = status
        await self._send({"type": "http.response.start", "status": status, "headers": headers + self.extra})

    async def write(self, body: bytes, more: bool = True) -> None:
        await self._send({"type": "http.response.body", "body": body, "more_body": more})

    @contextmanager
    def if_gone(self, then: Callable[[], None]) -> Iterator[None]:
        """Call `then` when the client hangs up meanwhile. The body has to have been read."""
        watch = asyncio.ensure_future(self.gone())
        watch.add_done_callback(lambda ended: None if ended.cancelled() else then())
        try:
            yield
        finally:
            watch.cancel()

    async def gone(self) -> None:
        while (await self.receive())["type"] != "http.disconnect":
            pass


Shape = Callable[[DrydockError, Call], Reply]
"""How one contract shows an error."""
Door = Callable[[Call], Awaitable[None]]
