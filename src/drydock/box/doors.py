"""The only ways out of a box: ports on its own loopback whose other side is a handler of ours, outside."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Doors:
    """Serves the listeners that a box has opened for us, until closed."""

    def __init__(self, handlers: Mapping[int, Handler]) -> None:
        self._handlers = dict(handlers)
        self._servers: list[asyncio.Server] = []
        self._connections: set[asyncio.Task[None]] = set()
        self._opening: set[asyncio.Task[None]] = set()
        self._closed = False

    @property
    def ports(self) -> list[int]:
        return list(self._handlers)

    def open(self, ports: Sequence[int], listeners: Sequence[int]) -> None:
        """`listeners` are open descriptors, one for each of `ports`; they are ours from here on."""
        for port, fd in zip(ports, listeners, strict=True):
            task = asyncio.get_running_loop().create_task(self._serve(port, socket.socket(fileno=fd)))
            self._opening.add(task)
            task.add_done_callback(self._opening.discard)

    async def _serve(self, port: int, listener: socket.socket) -> None:
        handler = self._handlers[port]

        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            self._connections.add(task)
            try:
                await handler(reader, writer)
            except asyncio.CancelledError:
                if not self._closed:  # of a connection's task that was cancelled, asyncio's streams make a failure
                    raise
            finally:
                self._connections.discard(task)
                writer.close()

        self._servers.append(await asyncio.start_server(connected, sock=listener))

    async def close(self) -> None:
        self._closed = True
        await asyncio.gather(*self._opening, return_exceptions=True)
        for server in self._servers:
            server.close()
        for task in list(self._connections):
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
