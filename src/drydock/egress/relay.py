"""One relay for one box: the handler of its door, bounds over all its connections, and the record of refusals."""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import Callable, Sequence

from drydock.egress.denial import Denial, DenialClass, Refused
from drydock.egress.dial import Connect, Dialer, Resolve, connect, resolve, verified
from drydock.egress.grants import Bounds, Grant, PackagesGrant, WebGrant
from drydock.egress.head import Head, read_head
from drydock.egress.packages import Packages
from drydock.egress.reply import Reply
from drydock.egress.upstream import Meter, Upstream
from drydock.egress.web import Web

RECORDS = 100
"""Denials kept; those after are only counted."""
_OURS = re.compile(r"(?:127\.0\.0\.1|localhost|\[::1\])(?::[0-9]{1,5})?", re.IGNORECASE)


class Relay:
    """`handler` goes on a box's door; `close` when the box has ended."""

    def __init__(
        self,
        grants: Sequence[Grant],
        bounds: Bounds = Bounds(),  # noqa: B008 - frozen
        *,
        resolve: Resolve = resolve,
        connect: Connect = connect,
        tls: Callable[[], ssl.SSLContext] = verified,
    ) -> None:
        self.denials: list[Denial] = []
        self.denied = 0
        """How often something was refused, those beyond the kept records included."""
        self._bounds = bounds
        self._meter = Meter(bounds)
        upstream = Upstream(Dialer(resolve, connect, tls), self._meter)
        self._packages = Packages([one for one in grants if isinstance(one, PackagesGrant)], upstream, self._meter)
        self._web = Web(upstream, self._meter) if any(isinstance(one, WebGrant) for one in grants) else None
        self._serving: set[asyncio.Task[object]] = set()
        self._closed = False

    async def handler(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        self._meter.begin()
        try:
            if not self._closed:
                await self._converse(reader, writer)
        except OSError:
            pass  # the program has gone; nobody is left to be told
        finally:
            self._serving.discard(task)
            writer.close()

    async def close(self) -> None:
        """Nothing of it runs when this returns; later connections are closed unread."""
        self._closed = True
        for task in list(self._serving):
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Request after request, each judged as if it were the first."""
        last = False
        while not last:
            reply = Reply(writer, bodiless=False, last=True, patience=self._bounds.upstream_seconds)
            try:
                if len(self._serving) > self._bounds.connections:
                    most = self._bounds.connections
                    raise Refused("connections", f"this box may hold {most} connections at once", status=503)
                head = await read_head(reader, self._bounds)
                if head is None:
                    return
                last = head.last
                reply = Reply(writer, bodiless=head.method == "HEAD", last=last, patience=self._bounds.upstream_seconds)
                await self._answer(head, reply)
            except Refused as refused:
                self._record(refused)
                await reply.refuse(refused)
            last = reply.last

    async def _answer(self, head: Head, reply: Reply) -> None:
        self._meter.request()
        if head.method not in ("GET", "HEAD"):
            reply.last = True
            raise Refused("method", _method(head.method), path=head.target, status=405)
        seconds = min(self._meter.seconds, self._bounds.reply_seconds)
        try:
            async with asyncio.timeout(seconds):
                await self._route(head, reply)
        except TimeoutError:
            kind: DenialClass = "slow" if self._meter.seconds else "seconds"
            raise Refused(kind, f"this was not done after {seconds:.0f} s; ask for less", path=head.target) from None

    async def _route(self, head: Head, reply: Reply) -> None:
        if not head.target.startswith("/"):
            if self._web is None:
                raise Refused("grant", "the web is not granted to this box, only a package index", path=head.target)
            await self._web.serve(head, reply)
            return
        if not _OURS.fullmatch(head.headers["host"]):
            reply.last = True
            raise Refused(
                "spelling",
                "the Host header names another host than the relay; ask for http://127.0.0.1:PORT/...",
                host=head.headers["host"],
                path=head.target,
                status=400,
            )
        await self._packages.serve(head, reply)

    def _record(self, refused: Refused) -> None:
        self.denied += 1
        if len(self.denials) < RECORDS:
            self.denials.append(refused.denial)


def _method(method: str) -> str:
    if method == "CONNECT":
        return "CONNECT would hide the path that is asked for; ask the relay itself with `GET https://host/path`"
    return f"{method} is not granted; the relay passes on GET and HEAD alone"
