"""The server's life on one thread: open, answer, drain at the first signal, stop at once at the second."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import signal
import socket
from collections.abc import Callable, Generator
from typing import Protocol

import uvicorn
from starlette.types import ASGIApp

from drydock.api.wire import wire_class

KEEP_ALIVE = 75
"""Seconds that an idle connection is kept; longer than the 60 s of common load balancers, which must close first."""
COLLECT_AFTER = 10_000
"""Objects more than there were; each collection looks through that many."""
LAST_BYTES = 1
"""Seconds that replies which are being written get at the very end."""


class Serving(Protocol):
    """What is served, and how it ends."""

    @property
    def asgi(self) -> ASGIApp: ...

    async def open(self) -> None: ...

    async def drain(self) -> None:
        """Take no new work; return when the running work has ended, or has been ended after its grace."""
        ...

    def hurry(self) -> None:
        """End the running work at once."""
        ...

    async def close(self) -> None: ...


class _Uvicorn(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        # What a server is made of stays, so the collector need not look through it again; and of what a request makes,
        # hardly anything is a cycle.
        gc.freeze()
        gc.set_threshold(COLLECT_AFTER)
        self._ready()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield  # ours, below: uvicorn's own would close the listening socket before the running work has ended


class Running:
    def __init__(self, serving: Serving, listener: socket.socket, receive_timeout: float) -> None:
        self._serving = serving
        self._listener = listener
        self._receive_timeout = receive_timeout
        self._uvicorn: _Uvicorn | None = None
        self._asked = False
        self._draining: asyncio.Task[None] | None = None

    async def run(self, ready: Callable[[], None], signals: bool = True) -> None:
        loop = asyncio.get_running_loop()
        if signals:
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.add_signal_handler(number, self.stop)
        try:
            await self._serving.open()
            config = uvicorn.Config(
                self._serving.asgi,
                http=wire_class(self._receive_timeout),
                ws="none",
                lifespan="off",
                loop="none",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_keep_alive=KEEP_ALIVE,
                timeout_graceful_shutdown=LAST_BYTES,
            )
            self._uvicorn = _Uvicorn(config, ready)
            if not self._asked:
                await self._uvicorn.serve(sockets=[self._listener])
        finally:
            await self._serving.close()

    def stop(self) -> None:
        """The first word drains, the second one hurries."""
        if self._uvicorn is None:
            self._asked = True  # not begun yet: it will not begin
            return
        if self._asked:
            self._serving.hurry()
            return
        self._asked = True
        self._draining = asyncio.ensure_future(self._drain())

    async def _drain(self) -> None:
        try:
            await self._serving.drain()
        finally:
            if self._uvicorn is not None:
                self._uvicorn.should_exit = True
