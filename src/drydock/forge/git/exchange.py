"""One request to the forge and its answer: a head of our own making, a body as it comes, bytes and pace watched."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass

from drydock import __version__
from drydock.egress.answer import BadAnswer, Reading
from drydock.egress.dial import Line
from drydock.egress.url import URL
from drydock.errors import RepositoryFailed

READ = 64 * 1024
RETRY = "It may be a fault of the moment: start the run again."
AGENT = f"git/2.39 (drydock/{__version__})"
"""Forges answer differently to what is no git."""


@dataclass(slots=True)
class Pace:
    """What may come from the forge, over all requests of one command."""

    bytes_left: int
    silence_s: float = 30.0
    """The longest wait for the next byte."""
    window_s: float = 120.0
    window_bytes: int = 30_000
    """At least so much in each window of waiting; a host that drips gets no more than one."""
    _waited: float = 0.0
    _came: int = 0

    def count(self, size: int, waited: float, host: str) -> None:
        self.bytes_left -= size
        if self.bytes_left < 0:
            raise RepositoryFailed(
                f"{host} sent more than a repository may have",
                hint="Clone it with a smaller depth, or have an operator raise DRYDOCK_CLONE_BYTES.",
            )
        self._waited += waited
        self._came += size
        if self._waited >= self.window_s:
            if self._came < self.window_bytes:
                raise too_slow(host)
            self._waited, self._came = 0.0, 0


class Exchange:
    """Owns its connection, which ends with it."""

    def __init__(self, line: Line, url: URL, pace: Pace) -> None:
        self._line, self._url, self._pace = line, url, pace
        self._reading = Reading()

    @property
    def status(self) -> int:
        return self._reading.status

    @property
    def headers(self) -> Mapping[str, str]:
        return self._reading.headers

    async def ask(
        self,
        method: str,
        headers: Mapping[str, str],
        body: AsyncIterator[bytes] | None = None,
        length: int | None = None,
    ) -> None:
        """Returns when the head of the answer is there. A body of no known length goes in chunks."""
        told = {"Host": self._url.authority, "User-Agent": AGENT, "Accept-Encoding": "identity", "Connection": "close"}
        if body is not None:
            told |= {"Transfer-Encoding": "chunked"} if length is None else {"Content-Length": str(length)}
        lines = [f"{method} {self._url.target} HTTP/1.1", *(f"{k}: {v}" for k, v in {**told, **headers}.items())]
        assert all(line.isascii() and line.isprintable() for line in lines), "what goes out is ours, on one line each"
        self._line.writer.write("\r\n".join([*lines, "", ""]).encode("ascii"))
        if body is not None:
            await self._send(body, chunked=length is None)
        while not self.status:
            await self._receive()

    async def _send(self, body: AsyncIterator[bytes], *, chunked: bool) -> None:
        writer = self._line.writer
        try:
            async for piece in body:
                writer.write(b"%x\r\n%b\r\n" % (len(piece), piece) if chunked else piece)
                async with asyncio.timeout(self._pace.silence_s):
                    await writer.drain()
            if chunked:
                writer.write(b"0\r\n\r\n")
        except TimeoutError:
            raise too_slow(self._url.host) from None
        except OSError:
            return  # it answers before it has heard everything: what it says is still to be read

    async def body(self) -> AsyncIterator[bytes]:
        while True:
            if piece := self._reading.take():
                yield piece
            elif self._reading.done:
                return
            else:
                await self._receive()

    async def _receive(self) -> None:
        host, began = self._url.host, time.monotonic()
        try:
            async with asyncio.timeout(self._pace.silence_s):
                data = await self._line.reader.read(READ)
            if data:
                self._reading.feed(data)
            else:
                self._reading.cut()
        except TimeoutError:
            raise too_slow(host) from None
        except BadAnswer as wrong:
            raise RepositoryFailed(f"{host} cannot be read: {wrong}", hint=RETRY, retryable=True) from None
        except OSError:
            raise RepositoryFailed(f"{host} ended the connection", hint=RETRY, retryable=True) from None
        self._pace.count(len(data), time.monotonic() - began, host)

    def close(self) -> None:
        self._line.writer.transport.abort()


def too_slow(host: str) -> RepositoryFailed:
    return RepositoryFailed(f"{host} sends too little or nothing at all", hint=RETRY, retryable=True)
