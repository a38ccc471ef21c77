"""Resolve once, check every address, connect to exactly the one that was checked.

There is no second resolution that could give another answer, since `Connect` takes an address, never a name.
"""

from __future__ import annotations

import asyncio
import functools
import socket
import ssl
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from drydock.egress.address import Address, Kind, kind_of, read
from drydock.egress.denial import Refused
from drydock.egress.url import URL

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
Connect = Callable[[Address, int], Awaitable[socket.socket]]
ADDRESSES = 32
"""More than this is no host but a trick."""


async def resolve(host: str, port: int) -> Sequence[str]:
    """By the system's resolver. Bytes, so that Python's own IDNA codec does not get to see the name."""
    found = await asyncio.get_running_loop().getaddrinfo(host.encode("ascii"), port, type=socket.SOCK_STREAM)
    return [str(sockaddr[0]) for _, _, _, _, sockaddr in found]


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
                line = await self._connect(address, url.port)
            except OSError as wrong:
                failed = wrong.strerror or type(wrong).__name__
                continue
            return await self._wrap(line, url, address)
        raise unreachable(url, failed)

    async def _look_up(self, url: URL) -> list[Address]:
        try:
            found = [read(text) for text in await self._resolve(url.host, url.port)]
        except (OSError, ValueError, UnicodeError):
            found = []
        if not found or len(found) > ADDRESSES:
            raise unreachable(url, "its name has no usable addresses")
        return list(dict.fromkeys(found))

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
