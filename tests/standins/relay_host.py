"""A process that serves ways out of a box: the package's relay, or a plain proxy, over an internet of our making.

    python3 -m tests.standins.relay_host [plain]

Each line on stdin is a door to open, or `report`, in JSON; each is answered by a line. It is a process of its own so
that it can be given a copy of the package that lacks a defence.
"""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from drydock.egress import dial
from drydock.egress.address import Address, read
from drydock.egress.grants import Bounds, Grant, PackagesGrant, WebGrant
from drydock.egress.relay import Relay
from tests.standins.plain_proxy import PlainProxy

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Net:
    """Names and addresses as told; what was dialled is remembered."""

    def __init__(self, told: dict[str, Any]) -> None:
        self._names: dict[str, Any] = told["names"]
        self._places = {(address, port): ours for address, port, ours in told["places"]}
        self._trusted = str(told["trusted"])
        self.dialled: list[tuple[str, int]] = []

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        known = self._names.get(host, [])
        if known and isinstance(known[0], list):
            return list(known.pop(0) if len(known) > 1 else known[0])
        return list(known)

    async def connect(self, address: Address, port: int) -> socket.socket:
        self.dialled.append((str(address), port))
        place = self._places.get((str(address), port))
        if place is None:
            raise ConnectionRefusedError(111, "Connection refused")
        return await dial.connect(read("127.0.0.1"), place)

    def tls(self) -> ssl.SSLContext:
        return ssl.create_default_context(cadata=self._trusted)

    async def reach(self, host: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """As a plain proxy does: the first address that answers."""
        try:
            found: Sequence[str] = [str(read(host))]
        except ValueError:
            found = await self.resolve(host, port)
        for address in found:
            try:
                return await asyncio.open_connection(sock=await self.connect(read(address), port))
            except OSError:
                continue
        raise ConnectionRefusedError(111, "Connection refused")


def handler(told: dict[str, Any], net: Net, plain: bool) -> Handler:
    grants: list[Grant] = [WebGrant()] if told["web"] else []
    packages = PackagesGrant.of("pypi", told["index"]) if told["index"] else None
    if plain:
        login = packages.credential.authorization if packages and packages.credential else ""
        return PlainProxy(net.reach, str(packages.index) if packages else "", login).handler
    grants += [packages] if packages else []
    return Relay(grants, Bounds(**told["bounds"]), resolve=net.resolve, connect=net.connect, tls=net.tls).handler


async def main(plain: bool) -> None:
    net = None
    while line := await asyncio.to_thread(sys.stdin.readline):
        if line.strip() == "report":
            print(json.dumps(net.dialled if net else []), flush=True)
            continue
        told = json.loads(line)
        net = Net(told)
        server = await asyncio.start_server(handler(told, net, plain), "127.0.0.1", 0)
        print(server.sockets[0].getsockname()[1], flush=True)


if __name__ == "__main__":
    asyncio.run(main("plain" in sys.argv[1:]))
