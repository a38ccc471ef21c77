"""One exchange with a host outside: a request of our own making, an answer within bounds, redirects judged anew."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from types import TracebackType

import h11

from drydock import __version__
from drydock.egress.address import Kind
from drydock.egress.denial import Refused
from drydock.egress.dial import Dialer, Line, unreachable
from drydock.egress.grants import Bounds
from drydock.egress.url import URL, BadURL, join

READ = 64 * 1024
ANSWER_HEAD = 64 * 1024
REDIRECTS = (301, 302, 303, 307, 308)
Judge = Callable[[URL], None]
"""Raises Refused for a hop that the grant does not cover."""


class Meter:
    """What one box may still use."""

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self._bytes = bounds.bytes
        self._requests = bounds.requests
        self._until: float | None = None

    def begin(self) -> None:
        """The first connection starts the clock."""
        if self._until is None:
            self._until = time.monotonic() + self.bounds.seconds

    @property
    def seconds(self) -> float:
        """Left, and not below zero."""
        return self.bounds.seconds if self._until is None else max(0.0, self._until - time.monotonic())

    def request(self) -> None:
        if not self.seconds:
            raise Refused(
                "seconds", f"this box may use its relay for {self.bounds.seconds:g} s; start a new run", status=429
            )
        if not self._requests:
            raise Refused("requests", f"this box may make {self.bounds.requests} requests; ask for less", status=429)
        self._requests -= 1

    def take(self, count: int, url: URL) -> None:
        self.expect(count, url)
        self._bytes -= count

    def expect(self, count: int, url: URL) -> None:
        if count > self._bytes:
            raise Refused(
                "bytes",
                f"this box may receive {self.bounds.bytes} bytes in all and this would be more; ask for less",
                host=url.host,
                path=url.path,
            )


@dataclass
class Answer:
    """An upstream's answer, its body still to be read."""

    url: URL
    status: int
    headers: Mapping[str, str]
    """Names in lower case; of several with one name, the first."""
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
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=ANSWER_HEAD)

    async def ask(self, method: str, headers: Mapping[str, str]) -> Answer:
        told = [
            ("Host", self._url.authority),
            ("User-Agent", f"drydock/{__version__}"),
            ("Accept-Encoding", "identity"),
        ]
        told += [("Connection", "close"), *headers.items()]
        request = h11.Request(method=method, target=self._url.target, headers=told)
        self._line.writer.write((self._http.send(request) or b"") + (self._http.send(h11.EndOfMessage()) or b""))
        for _ in range(8):
            event = await self._event()
            if isinstance(event, h11.Response):
                given = {
                    name.decode("latin-1"): value.decode("latin-1") for name, value in reversed(list(event.headers))
                }
                return Answer(self._url, event.status_code, given, self._line.kind, self)
            if not isinstance(event, h11.InformationalResponse):
                break
        raise unreachable(self._url, "it did not answer in HTTP")

    async def body(self) -> AsyncIterator[bytes]:
        while isinstance(event := await self._event(), h11.Data):
            self._meter.take(len(event.data), self._url)
            yield bytes(event.data)
        if not isinstance(event, h11.EndOfMessage):
            raise unreachable(self._url, "it broke off")

    async def _event(self) -> object:
        try:
            while (event := self._http.next_event()) is h11.NEED_DATA:
                async with asyncio.timeout(self._meter.bounds.upstream_seconds):
                    self._http.receive_data(await self._line.reader.read(READ))
        except TimeoutError:
            raise _silent(self._url, self._meter.bounds.upstream_seconds) from None
        except h11.RemoteProtocolError:
            raise unreachable(self._url, "it broke off, or what it sent is not HTTP") from None
        except OSError:
            raise unreachable(self._url, "it ended the connection") from None
        return event

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
