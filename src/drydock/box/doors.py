"""The only ways out of a box: ports on its own loopback whose other side is a handler of ours, outside."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
OPEN = 128
"""Connections through one door at once. Those after wait in the kernel's queue, where they cost us nothing: a box that
connects as fast as it can must not keep the server from its other work."""

RETRY = 0.1


class Doors:
    """Serves the listeners that a box has opened for us, until closed."""

    def __init__(self, handlers: Mapping[int, Handler]) -> None:
        self._handlers = dict(handlers)
        self._accepting: list[asyncio.Task[None]] = []
        self._connections: set[asyncio.Task[None]] = set()

    @property
    def ports(self) -> list[int]:
        return list(self._handlers)

    def open(self, ports: Sequence[int], listeners: Sequence[int]) -> None:
        """`listeners` are open descriptors, one for each of `ports`; they are ours from here on."""
        for port, fd in zip(ports, listeners, strict=True):
            accepting = self._accept(self._handlers[port], socket.socket(fileno=fd))
            self._accepting.append(asyncio.get_running_loop().create_task(accepting))

    async def _accept(self, handler: Handler, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        free = asyncio.Semaphore(OPEN)

        def ended(task: asyncio.Task[None]) -> None:
            self._connections.discard(task)
            free.release()

        with listener:
            listener.setblocking(False)
            while True:
                await free.acquire()
                line = await _next(loop, listener)
                task = loop.create_task(_serve(handler, line))
                self._connections.add(task)
                task.add_done_callback(ended)

    async def close(self) -> None:
        for task in (*self._accepting, *self._connections):
            task.cancel()
        await asyncio.gather(*self._accepting, *self._connections, return_exceptions=True)


async def _next(loop: asyncio.AbstractEventLoop, listener: socket.socket) -> socket.socket:
    while True:
        try:
            return (await loop.sock_accept(listener))[0]
        except OSError:  # the server has no descriptor left at this moment, or the client has gone again
            await asyncio.sleep(RETRY)


async def _serve(handler: Handler, line: socket.socket) -> None:
    try:
        reader, writer = await asyncio.open_connection(sock=line)
    except BaseException:
        line.close()
        raise
    try:
        await handler(reader, writer)
    finally:
        writer.close()
