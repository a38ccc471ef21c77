"""Resolve once, check every address, connect to exactly the one that was checked.

There is no second resolution that could give another answer, since `Connect` takes an address, never a name.
"""

from __future__ import annotations

import asyncio
import functools
import socket
import ssl
import threading
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass

from drydock.egress.address import Address, Kind, kind_of, read
from drydock.egress.denial import Refused
from drydock.egress.url import URL

Resolve = Callable[[str, int], Coroutine[None, None, Sequence[str]]]
Connect = Callable[[Address, int], Coroutine[None, None, socket.socket]]
ADDRESSES = 32
"""More than this is no host but a trick."""
ATTEMPT = 3.0
"""Seconds for one of several addresses: a host may have one that nothing answers at."""
LOOKUPS = 8
"""Names that one box may have looked up at once."""


async def resolve(host: str, port: int) -> Sequence[str]:
    """By the system's resolver, which may hang for half a minute: in a thread that nobody else waits for, not even the
    end of the process. Bytes, so that Python's own IDNA codec does not get to see the name."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[list[str]] = loop.create_future()

    def settle(found: list[str]) -> None:
        if not answer.done():
            answer.set_result(found)

    def look_up() -> None:
        try:
            known = socket.getaddrinfo(host.encode("ascii"), port, type=socket.SOCK_STREAM)
        except OSError:
            known = []
        with suppress(RuntimeError):  # the loop has ended meanwhile
            loop.call_soon_threadsafe(settle, [str(sockaddr[0]) for _, _, _, _, sockaddr in known])

    threading.Thread(target=look_up, name="egress lookup", daemon=True).start()
    return await answer


async def connect(address: Address, port: int) -> socket.socket:
    line = socket.socket(socket.AF_INET6 if address.version == 6 else socket.AF_INET, socket.SOCK_STREAM)
    try:
        line.setblocking(False)
        await asyncio.get_running_loop().sock_connect(line, (str(address), port))
    except BaseException:
        line.close()
        raise
    return line


@functools.cache
def verified() -> ssl.SSLContext:
    """The system's authorities, the name checked. Reading them takes 20 ms, so once."""
    return ssl.create_default_context()


@dataclass(frozen=True)
class Line:
    """A connection to a checked address."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    address: Address
    kind: Kind


class Dialer:
    def __init__(
        self,
        resolve: Resolve = resolve,
        connect: Connect = connect,
        tls: Callable[[], ssl.SSLContext] = verified,
    ) -> None:
        self._resolve = resolve
        self._free = asyncio.Semaphore(LOOKUPS)
        self._lookups: set[asyncio.Task[Sequence[str]]] = set()
        self._connect = connect
        self._tls = tls

    async def addresses(self, url: URL, furthest: Kind) -> list[Address]:
        """All that the host has; Refused when one of them is of a kind beyond `furthest`."""
        try:
            found = [read(url.host)]
        except ValueError:
            found = await self._look_up(url)
        for address in found:
            kind = kind_of(address)
            if kind > furthest:
                raise Refused(
                    "address",
                    f"{url.host} has an address of the kind {kind.name.lower()}, and this grant reaches addresses of "
                    f"the kind {furthest.name.lower()} at the most; ask for a host that has public addresses alone",
                    host=url.host,
                    path=url.path,
                )
        return found

    async def dial(self, url: URL, furthest: Kind) -> Line:
        """The first of the checked addresses that answers."""
        failed = ""
        for address in await self.addresses(url, furthest):
            try:
                async with asyncio.timeout(ATTEMPT):
                    line = await self._connect(address, url.port)
            except OSError as wrong:
                failed = wrong.strerror or "no answer"
                continue
            return await self._wrap(line, url, address)
        raise unreachable(url, failed)

    async def _look_up(self, url: URL) -> list[Address]:
        try:
            found = [read(text) for text in await self._answers(url)]
        except (OSError, ValueError):
            found = []
        if not found or len(found) > ADDRESSES:
            raise unreachable(url, "its name has no usable addresses")
        return list(dict.fromkeys(found))

    async def _answers(self, url: URL) -> Sequence[str]:
        """A lookup that nobody waits for any more still counts until it has ended."""
        await self._free.acquire()
        lookup = asyncio.get_running_loop().create_task(self._resolve(url.host, url.port))
        self._lookups.add(lookup)
        lookup.add_done_callback(self._looked_up)
        return await asyncio.shield(lookup)

    def _looked_up(self, lookup: asyncio.Future[Sequence[str]]) -> None:
        self._lookups.discard(lookup)
        self._free.release()
        if not lookup.cancelled():
            lookup.exception()

    def close(self) -> None:
        for lookup in list(self._lookups):
            lookup.cancel()

    async def _wrap(self, line: socket.socket, url: URL, address: Address) -> Line:
        try:
            tls = self._tls() if url.scheme == "https" else None
            name = url.host if tls else None
            reader, writer = await asyncio.open_connection(sock=line, ssl=tls, server_hostname=name)
        except OSError as wrong:
            line.close()
            told = (
                "its certificate is not valid for it"
                if isinstance(wrong, ssl.SSLCertVerificationError)
                else "TLS failed"
            )
            raise unreachable(url, told) from None
        except BaseException:
            line.close()
            raise
        return Line(reader, writer, address, kind_of(address))


def unreachable(url: URL, why: str) -> Refused:
    sentence = (
        f"{url.host} cannot be reached: {why}; try again, or ask the operator to look at the host's name and network"
    )
    return Refused("upstream", sentence, host=url.host, path=url.path, status=502)
