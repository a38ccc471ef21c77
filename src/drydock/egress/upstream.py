"""One exchange with a host outside: a request of our own making, an answer within bounds, redirects judged anew."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from types import TracebackType

from drydock import __version__
from drydock.egress.address import Kind
from drydock.egress.answer import BadAnswer, Reading
from drydock.egress.denial import Refused
from drydock.egress.dial import Dialer, Line, unreachable
from drydock.egress.meter import Meter
from drydock.egress.url import URL, BadURL, join

READ = 64 * 1024
REDIRECTS = (301, 302, 303, 307, 308)
Judge = Callable[[URL], None]
"""Raises Refused for a hop that the grant does not cover."""


@dataclass
class Answer:
    """An upstream's answer, its body still to be read."""

    url: URL
    status: int
    headers: Mapping[str, str]
    kind: Kind
    """Of the address that was dialled."""
    _exchange: Exchange

    @property
    def length(self) -> int | None:
        told = self.headers.get("content-length", "")
        return int(told) if told.isdecimal() and len(told) < 16 else None

    def body(self) -> AsyncIterator[bytes]:
        return self._exchange.body()


class Exchange:
    """One request on one connection, which ends with it."""

    def __init__(self, line: Line, url: URL, meter: Meter) -> None:
        self._line = line
        self._url = url
        self._meter = meter
        self._reading = Reading()
        self._bodiless = False

    async def ask(self, method: str, headers: Mapping[str, str]) -> Answer:
        # No `Connection: close`: of a TLS connection that the other side ends while we are not reading, uvloop drops
        # what it still holds. We end it ourselves once we have all.
        told = {"Host": self._url.authority, "User-Agent": f"drydock/{__version__}", "Accept-Encoding": "identity"}
        told |= headers
        lines = [f"{method} {self._url.target} HTTP/1.1", *(f"{name}: {value}" for name, value in told.items())]
        assert all(line.isascii() and line.isprintable() for line in lines), "what goes out is ours, on one line each"
        self._line.writer.write("\r\n".join([*lines, "", ""]).encode("ascii"))
        self._bodiless = method == "HEAD"
        reading = self._reading
        while not reading.status:
            await self._receive()
        return Answer(self._url, reading.status, reading.headers, self._line.kind, self)

    async def body(self) -> AsyncIterator[bytes]:
        if self._bodiless:
            return
        while True:
            if piece := self._reading.take():
                yield piece
            if self._reading.done:
                return
            await self._receive()

    async def _receive(self) -> None:
        try:
            async with asyncio.timeout(self._meter.bounds.upstream_seconds):
                data = await self._line.reader.read(READ)
            self._meter.take(len(data), self._url)
            if data:
                self._reading.feed(data)
            else:
                self._reading.cut()
        except TimeoutError:
            raise _silent(self._url, self._meter.bounds.upstream_seconds) from None
        except BadAnswer as wrong:
            raise unreachable(self._url, str(wrong)) from None
        except OSError:
            raise unreachable(self._url, "it ended the connection") from None

    async def __aenter__(self) -> Exchange:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self._line.writer.transport.abort()


class Upstream:
    def __init__(self, dialer: Dialer, meter: Meter) -> None:
        self._dialer = dialer
        self._meter = meter

    @asynccontextmanager
    async def fetch(
        self,
        method: str,
        url: URL,
        headers: Mapping[str, str],
        *,
        furthest: Kind,
        judge: Judge,
        authorization: Callable[[list[URL]], str | None] = lambda hops: None,
    ) -> AsyncIterator[Answer]:
        """The answer at the end of at most so many redirects. Each hop is judged, and reaches no further than the
        address that sent us there; `authorization` is asked with all hops so far, the present one last."""
        hops: list[URL] = []
        while True:
            judge(url)
            hops.append(url)
            secret = authorization(hops)
            line = await self._dial(url, furthest)
            async with Exchange(line, url, self._meter) as exchange:
                answer = await exchange.ask(method, {**headers, **({"Authorization": secret} if secret else {})})
                if answer.status not in REDIRECTS:
                    yield answer
                    return
                url, furthest = self._next(answer, hops), answer.kind

    def close(self) -> None:
        self._dialer.close()

    async def _dial(self, url: URL, furthest: Kind) -> Line:
        try:
            async with asyncio.timeout(self._meter.bounds.connect_seconds):
                return await self._dialer.dial(url, furthest)
        except TimeoutError:
            raise _silent(url, self._meter.bounds.connect_seconds) from None

    def _next(self, answer: Answer, hops: list[URL]) -> URL:
        if len(hops) > self._meter.bounds.redirects:
            raise redirect(answer.url, f"redirected more than {self._meter.bounds.redirects} times")
        try:
            url, _ = join(answer.url, answer.headers.get("location", ""))
        except BadURL as wrong:
            raise redirect(answer.url, f"redirected to what is no usable URL: {wrong}") from None
        if answer.url.scheme == "https" and url.scheme != "https":
            raise redirect(answer.url, "redirected from https to http")
        return url


def redirect(url: URL, why: str) -> Refused:
    return Refused("redirect", f"{url.host} {why}; ask for the final address", host=url.host, path=url.path)


def _silent(url: URL, seconds: float) -> Refused:
    sentence = f"{url.host} said nothing for {seconds:g} s; try again later"
    return Refused("slow", sentence, host=url.host, path=url.path, status=504)
