"""A relay behind a real port, as a box's door is, and a hostile program's means to knock at it."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Coroutine, Sequence
from types import TracebackType
from typing import Any, TypeVar

import httpx
import uvloop

from drydock.egress.grants import Bounds, Grant
from drydock.egress.relay import Relay

T = TypeVar("T")


class Door:
    def __init__(self, *grants: Grant, bounds: Bounds = Bounds(), **parts: Any) -> None:  # noqa: B008 - frozen
        self.relay = Relay(grants, bounds, **parts)
        self.crashed: list[object] = []
        """What the relay did not see coming; closing the door fails on any."""
        self._began = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        self._began.wait()
        self.url = f"http://127.0.0.1:{self.port}"
        self.client = httpx.Client(base_url=self.url, timeout=30, trust_env=False)

    @property
    def denied(self) -> list[str]:
        """The classes of what was refused so far."""
        return [denial.kind for denial in self.relay.denials]

    def get(self, path: str, **more: Any) -> httpx.Response:
        return self.client.get(path, **more)

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=30)

    def say(self, *pieces: bytes) -> bytes:
        """Send bytes as they are; all that comes back until the relay ends the connection."""
        with self.connect() as line:
            for piece in pieces:
                line.sendall(piece)
            return everything(line)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """On the relay's own loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(30)

    def close(self) -> None:
        self.client.close()
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join()
        assert self.crashed == [], self.crashed

    def __enter__(self) -> Door:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            self._loop = runner.get_loop()
            runner.run(self._serve())

    async def _serve(self) -> None:
        self._ended = asyncio.Event()
        self._loop.set_exception_handler(
            lambda loop, told: self.crashed.append(told.get("exception") or told["message"])
        )
        server = await asyncio.start_server(self._handle, "127.0.0.1", 0)
        self.port: int = server.sockets[0].getsockname()[1]
        self._began.set()
        await self._ended.wait()
        server.close()
        await self.relay.close()

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self.relay.handler(reader, writer)
        except Exception as unseen:
            self.crashed.append(unseen)
            raise


def everything(line: socket.socket) -> bytes:
    got = b""
    try:
        while piece := line.recv(65536):
            got += piece
    except ConnectionResetError:
        pass  # the relay cut it, which is an end too
    return got


def request(target: str, host: str = "127.0.0.1", method: str = "GET", headers: Sequence[str] = ()) -> bytes:
    lines = [f"{method} {target} HTTP/1.1", f"Host: {host}", *headers, "Connection: close", "", ""]
    return "\r\n".join(lines).encode()
