"""One relay for one box: the handler of its door, bounds over all its connections, and the record of refusals."""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import Callable, Sequence
from contextlib import suppress

from drydock.egress.denial import Denial, DenialClass, Refused, place
from drydock.egress.dial import Connect, Dialer, Resolve, connect, resolve, verified
from drydock.egress.grants import Bounds, FileGrant, Grant, PackagesGrant, WebGrant
from drydock.egress.head import Head, read_head
from drydock.egress.meter import Meter
from drydock.egress.packages import Packages
from drydock.egress.reply import Reply
from drydock.egress.upstream import Upstream
from drydock.egress.web import Web

RECORDS = 100
"""Denials kept; those after are only counted."""
LINGER = 1.0
LINGER_BYTES = 256 * 1024
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
        self._upstream = Upstream(Dialer(resolve, connect, tls), self._meter)
        packages = [one for one in grants if isinstance(one, PackagesGrant)]
        files = [one for one in grants if isinstance(one, FileGrant)]
        self._packages = Packages(packages, self._upstream, self._meter, files)
        granted = any(isinstance(one, WebGrant) for one in grants)
        self._web = Web(self._upstream, self._meter) if granted else None
        self._serving: set[asyncio.Task[object]] = set()
        self._answered = 0
        self._useless = 0
        self._closed = False

    async def handler(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        self._meter.begin()
        try:
            if not self._closed and not await self._served(reader, writer):
                await self._slow_down()
        except asyncio.CancelledError:
            if not self._closed:  # of a connection's task that was cancelled, asyncio's streams make a failure
                raise
        finally:
            self._serving.discard(task)
            writer.close()

    async def close(self) -> None:
        """Nothing of it runs when this returns; later connections are closed unread."""
        self._closed = True
        for task in list(self._serving):
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)
        self._upstream.close()

    async def _served(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Whether anything came of the connection."""
        answered = self._answered
        try:
            if await self._admitted(writer):
                await self._converse(reader, writer)
        except OSError:
            pass  # the program has gone; nobody is left to be told
        return self._answered > answered

    async def _slow_down(self) -> None:
        """A box that provokes refusals, or connects and says nothing, costs us less than it costs itself."""
        self._useless += 1
        if self._useless > RECORDS:
            await asyncio.sleep(self._bounds.refusal_seconds)

    async def _admitted(self, writer: asyncio.StreamWriter) -> bool:
        """Those that are open already are not the worse for one too many."""
        most = self._bounds.connections
        if len(self._serving) <= most:
            return True
        refused = Refused("connections", f"this box may hold {most} connections at once; close some", status=503)
        self._record(refused)
        if self.denied <= RECORDS:
            reply = Reply(writer, bodiless=False, last=True, patience=self._bounds.upstream_seconds)
            await reply.refuse(refused)
        return False

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Request after request, each judged as if it were the first."""
        patience = self._bounds.upstream_seconds
        last = False
        while not last:
            head = None
            reply = Reply(writer, bodiless=False, last=True, patience=patience)
            try:
                head = await read_head(reader, self._bounds)
                if head is None:
                    return
                reply = Reply(writer, bodiless=head.method == "HEAD", last=head.last, patience=patience)
                await self._answer(head, reply)
                self._answered += 1
            except Refused as refused:
                refused.about(head.target if head else "")
                await self._refuse(refused, reply)
            last = reply.last
        await _linger(reader, writer)

    async def _answer(self, head: Head, reply: Reply) -> None:
        self._meter.request()
        seconds = min(self._meter.seconds, self._bounds.reply_seconds)
        try:
            async with asyncio.timeout(seconds):
                await self._route(head, reply)
        except TimeoutError:
            kind: DenialClass = "slow" if self._meter.seconds else "seconds"
            raise Refused(kind, f"this was not done after {seconds:.0f} s; ask for less", status=504) from None

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
                host=place(head.headers["host"])[0],
                path=head.target,
                status=400,
            )
        await self._packages.serve(head, reply)

    async def _refuse(self, refused: Refused, reply: Reply) -> None:
        self._record(refused)
        await self._slow_down()
        await reply.refuse(refused)

    def _record(self, refused: Refused) -> None:
        self.denied += 1
        if len(self.denials) < RECORDS:
            self.denials.append(refused.denial)


async def _linger(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Read what still comes: a connection closed with bytes unread is reset, and the reset overtakes the reply."""
    if writer.transport.is_closing():
        return
    writer.write_eof()
    left = LINGER_BYTES
    with suppress(TimeoutError):
        async with asyncio.timeout(LINGER):
            while left > 0 and (piece := await reader.read(left)):
                left -= len(piece)
