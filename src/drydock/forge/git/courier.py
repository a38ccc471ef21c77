"""The door of git's box. It passes git's requests on to one repository of one host, and adds the credential outside.

Nothing that git says decides where a connection leads or what it may do: the address is the run's, looked up once and
judged, and a push is read and compared with what was granted before its first byte goes out.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

from drydock.egress.address import Kind
from drydock.egress.denial import Refused
from drydock.egress.dial import Dialer
from drydock.egress.url import URL, BadURL, join
from drydock.errors import RepositoryFailed
from drydock.forge.git.asked import Asked, BadRequest
from drydock.forge.git.credential import Credential
from drydock.forge.git.exchange import RETRY, Exchange, Pace
from drydock.forge.git.grant import LINE_BYTES, Grant, Push, asks_for
from drydock.forge.git.source import Remote

HOPS = 5
REDIRECTS = (301, 302, 303, 307, 308)
SHALLOW = b"shallow "
"""Lines by which a client with a part of the history says where it ends. They change nothing."""


class Courier:
    """Serves one command of git's; `failure` says afterwards what went wrong outside, if anything did."""

    def __init__(
        self, source: Remote, grant: Grant, dialer: Dialer, pace: Pace, credential: Credential | None = None
    ) -> None:
        self.failure: RepositoryFailed | None = None
        self._source, self._grant, self._dialer, self._pace = source, grant, dialer, pace
        self._credential = credential
        self._base, self._furthest = source.url, source.furthest
        """Where the repository turned out to be, and how far we may go for it."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request on one connection."""
        try:
            asked = Asked(reader)
            await asked.head(self._grant.service)
            await (self._refs(asked, writer) if asked.step == "refs" else self._work(asked, writer))
        except BadRequest:
            self._fail(RepositoryFailed("git asked for something that is not granted to it"))
        except RepositoryFailed as failed:
            self._fail(failed)
        except Refused as refused:
            self._fail(_unreached(refused, self._source.url.host))
        except OSError:
            return  # git has ended: its end says how
        if self.failure is not None:
            # git would retry or guess at what a status means; a connection that ends is an error to it, and no more.
            writer.transport.abort()

    def _fail(self, failed: RepositoryFailed) -> None:
        self.failure = self.failure or failed

    async def _refs(self, asked: Asked, writer: asyncio.StreamWriter) -> None:
        """The first request, the only one that may be redirected: a repository that was renamed is where it leads."""
        service = self._grant.service
        url = _at(self._base, f"/info/refs?service={service}")
        for _ in range(HOPS + 1):
            exchange, kind = await self._open(url)
            try:
                await exchange.ask("GET", self._headers(asked, url))
                if exchange.status not in REDIRECTS:
                    self._base = _without(url, f"/info/refs?service={service}")
                    await self._answer(exchange, f"application/x-{service}-advertisement", writer)
                    return
                url, self._furthest = self._next(url, exchange.headers.get("location", "")), kind
            finally:
                exchange.close()
        raise RepositoryFailed(f"{url.host} redirects in circles", hint="Give the repository's final address.")

    async def _work(self, asked: Asked, writer: asyncio.StreamWriter) -> None:
        service = self._grant.service
        body = asked.body()
        if isinstance(self._grant, Push):
            body = await self._only_what_is_granted(asked, self._grant)
        url = _at(self._base, f"/{service}")
        exchange, _ = await self._open(url)
        try:
            await exchange.ask("POST", self._headers(asked, url), body, asked.length)
            await self._answer(exchange, f"application/x-{service}-result", writer)
        finally:
            exchange.close()

    async def _only_what_is_granted(self, asked: Asked, grant: Push) -> AsyncIterator[bytes]:
        """The body, once the updates at its beginning are known to be the one that is granted, or none at all."""
        if "content-encoding" in asked.headers:
            raise BadRequest
        body, begun, commands = asked.body(), b"", None
        while commands is None:
            async for piece in body:
                begun += piece
                break
            else:
                raise BadRequest
            try:
                commands = asks_for(begun)
            except ValueError:
                raise BadRequest from None
            if commands is None and len(begun) > 16 * LINE_BYTES:
                raise BadRequest
        if [each for each in commands if not each.startswith(SHALLOW)] not in ([], [grant.command()]):
            raise BadRequest
        return _after(begun, body)

    async def _open(self, url: URL) -> tuple[Exchange, Kind]:
        line = await self._dialer.dial(url, self._furthest)
        return Exchange(line, url, self._pace), line.kind

    def _headers(self, asked: Asked, url: URL) -> dict[str, str]:
        headers = {name.title(): value for name, value in asked.headers.items()}
        headers["Accept"] = "*/*"
        if self._credential is not None and url.origin == self._source.url.origin:
            headers["Authorization"] = self._credential.authorization
        return headers

    def _next(self, url: URL, location: str) -> URL:
        service = self._grant.service
        try:
            there, _ = join(url, location)
        except BadURL as wrong:
            raise _misled(url, f"to what is no usable address: {wrong}") from None
        if url.scheme == "https" and there.scheme != "https":
            raise _misled(url, "from https to http")
        if there.query != f"?service={service}" or not there.path.endswith("/info/refs"):
            raise _misled(url, "to what is no repository, a page to log in for instance")
        return there

    async def _answer(self, exchange: Exchange, kind: str, writer: asyncio.StreamWriter) -> None:
        self._judge(exchange)
        if exchange.headers.get("content-type", "").partition(";")[0].strip().lower() != kind:
            raise RepositoryFailed(
                f"{self._base.host} answers, but not as git's protocol has it",
                hint="Look at the address: what is there is a page or a proxy, and no repository.",
            )
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
        writer.write(head.encode("ascii"))
        async for piece in exchange.body():
            writer.writelines((b"%x\r\n" % len(piece), piece, b"\r\n"))
            await writer.drain()
        writer.write(b"0\r\n\r\n")
        await writer.drain()

    def _judge(self, exchange: Exchange) -> None:
        host, status = self._base.host, exchange.status
        known = self._credential is not None
        if status == 200:
            return
        if status in (401, 403):
            told = "does not accept the credential for this" if known else "asks for a credential"
            remedy = "Give a token that may do this; it may have expired." if known else "Give a token beside it."
            raise RepositoryFailed(f"{host} {told} ({status})", hint=remedy)
        if status == 404:
            told = "or none that this credential may see" if known else "or none without a credential"
            raise RepositoryFailed(f"{host} has no such repository, {told}")
        if status == 429 or status >= 500:
            raise RepositoryFailed(f"{host} answered {status}", hint=RETRY, retryable=True)
        raise RepositoryFailed(f"{host} answered {status}", hint="Look at the repository's address.")


def _at(base: URL, tail: str) -> URL:
    path, _, query = tail.partition("?")
    return replace(base, path=base.path + path, query="?" + query if query else "")


def _without(url: URL, tail: str) -> URL:
    return replace(url, path=url.path.removesuffix(tail.partition("?")[0]), query="")


async def _after(begun: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield begun
    async for piece in rest:
        yield piece


def _misled(url: URL, where: str) -> RepositoryFailed:
    return RepositoryFailed(f"{url.host} redirects {where}", hint="Give the repository's final address.")


def _unreached(refused: Refused, host: str) -> RepositoryFailed:
    if refused.denial.kind == "address":
        return RepositoryFailed(
            f"{refused.denial.host} has an address that is not public, and was not asked",
            hint="Have an operator add the host to DRYDOCK_GIT_HOSTS_ALLOW if runs may reach it.",
        )
    return RepositoryFailed(f"{refused.denial.host or host} cannot be reached", hint=RETRY, retryable=True)
