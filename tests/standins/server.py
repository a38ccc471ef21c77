"""The real server with real boxes, in a thread of the test's process, on a real socket."""

from __future__ import annotations

import asyncio
import io
import json
import socket
import threading
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx
import uvloop

from drydock import app
from drydock.api.listening import listen
from drydock.api.running import Running
from drydock.box.stop import Stop
from drydock.code.boxed import BoxedExecutor
from drydock.code.executor import OnOutput, OnProgress
from drydock.code.request import ExecutionRequest, ExecutionResult
from drydock.observe.log import Log
from drydock.run.parts import Makes
from drydock.settings import Settings

BEGINS_WITHIN = 10


class CountingBoxes(BoxedExecutor):
    """Real boxes, and how often a program was run in one."""

    started = 0

    async def execute(
        self,
        request: ExecutionRequest,
        *,
        stop: Stop | None = None,
        on_output: OnOutput | None = None,
        on_progress: OnProgress | None = None,
        queue: bool = False,
    ) -> ExecutionResult:
        self.started += 1
        return await super().execute(request, stop=stop, on_output=on_output, on_progress=on_progress, queue=queue)


class Server:
    def __init__(
        self, data: Path, executor: app.OwnedExecutor | None = None, makes: Makes | None = None, **told: Any
    ) -> None:
        self.settings = Settings(**{"data": data, "port": 0, "shutdown_grace": 0.2, **told})
        self.log = io.StringIO()
        log = Log("debug", self.log)
        self._boxes = CountingBoxes(self.settings, log)
        self.app = app.build(self.settings, executor or self._boxes, log, makes)
        self._listener = listen(self.settings.host, self.settings.port)
        self.port: int = self._listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._began = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._running = Running(self.app, self._listener, self.settings.receive_timeout)
        self._thread = threading.Thread(target=self._run, name="server")
        self._thread.start()
        assert self._began.wait(BEGINS_WITHIN)
        self.client = httpx.Client(base_url=self.url, timeout=30)

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            self._loop = runner.get_loop()
            runner.run(self._running.run(self._began.set, signals=False))

    @property
    def started(self) -> int:
        """Programs run so far."""
        return self._boxes.started

    def close(self) -> None:
        self.client.close()
        if self._thread.is_alive() and self._loop is not None:
            self._loop.call_soon_threadsafe(self._running.stop)
        self._thread.join()
        self._listener.close()
        self.app.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def post(self, path: str, body: Any, **headers: str) -> httpx.Response:
        sent = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.client.post(path, content=sent, headers=named(headers))

    def get(self, path: str, **headers: str) -> httpx.Response:
        return self.client.get(path, headers=named(headers))

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=10)

    def raw(self, data: bytes) -> bytes:
        """What comes back until the server closes the connection."""
        with self.connect() as connection:
            connection.sendall(data)
            return read_to_end(connection)


def read_to_end(connection: socket.socket) -> bytes:
    parts = []
    try:
        while part := connection.recv(65536):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


def named(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}


def events_of(text: str) -> list[tuple[int, str, dict[str, Any]]]:
    """Number, kind and data of each event in a stream."""
    found = []
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n") if line and not line.startswith(":"))
        if fields:
            found.append((int(fields["id"]), fields["event"], json.loads(fields["data"])))
    return found
