"""The forge's port. One thread for each connection, since git opens few of them."""

from __future__ import annotations

import re
import ssl
import tempfile
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import unquote, urlsplit

from tests.standins.forge import smart_http
from tests.standins.forge.faults import Fault
from tests.standins.forge.repositories import BareRepository, Files
from tests.standins.forge.tokens import Tokens

_GIT = re.compile(r"/(?P<name>[\w.-]+/[\w.-]+?)\.git/(?P<tail>info/refs|git-upload-pack|git-receive-pack)")


@dataclass(frozen=True)
class Asked:
    """One request as it came."""

    method: str
    target: str
    headers: Mapping[str, str]
    """Names in lower case."""


class Exchange(BaseHTTPRequestHandler):
    """One request and the answer to it; faults work on this."""

    protocol_version = "HTTP/1.1"
    forge: Forge
    cut_at: int | None = None
    """Bytes of the body after which the connection ends."""

    def do_GET(self) -> None:
        self.cut_at = None
        self.forge.answer(self)

    do_POST = do_GET

    def begin(self, status: int, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def send(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        if self.cut_at == 0:
            self.close_connection = True
            return
        self.begin(status, {**headers, "Content-Length": str(len(body))})
        self.wfile.write(body if self.cut_at is None else body[: self.cut_at])
        self.close_connection = self.close_connection or self.cut_at is not None

    def body(self) -> Iterator[bytes]:
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            while size := int(self.rfile.readline().split(b";")[0], 16):
                yield self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            yield self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def log_message(self, format: str, *args: Any) -> None:
        pass


class Forge:
    def __init__(self, name: str = "127.0.0.1", tls: ssl.SSLContext | None = None) -> None:
        self.asked: list[Asked] = []
        self.tokens = Tokens()
        self.repositories: dict[str, BareRepository] = {}
        self.private: set[str] = set()
        """Repositories that nobody may read without a token."""
        self.closing = threading.Event()
        self._folder = tempfile.TemporaryDirectory(prefix="forge-")
        self.root = Path(self._folder.name)
        self._faults: dict[str, list[Fault]] = {}
        self._server = ThreadingHTTPServer((name, 0), type("BoundExchange", (Exchange,), {"forge": self}))
        self._server.daemon_threads = True
        self._server.handle_error = lambda request, client_address: None  # type: ignore[method-assign]
        if tls is not None:
            # The handshake belongs to the connection's own thread: a slow client must not keep others waiting.
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        self.port: int = self._server.server_address[1]
        self.host = f"{name}:{self.port}"
        self.origin = f"http://{self.host}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def create(self, name: str, files: Files, *, branch: str = "main", private: bool = False) -> BareRepository:
        made = BareRepository(self.root / f"{name}.git", files, branch=branch)
        self.repositories[name] = made
        if private:
            self.private.add(name)
        return made

    def url(self, name: str) -> str:
        return f"{self.origin}/{name}.git"

    def behave(self, path: str, *faults: Fault, times: int = 10**6) -> None:
        """From now on requests for this path (without its query) get these, one after the other, then so many times
        the last one, then the truth again."""
        self._faults[path] = [*faults, *[faults[-1]] * min(times - 1, 1000)] if faults else []

    def paths(self) -> list[str]:
        return [asked.target for asked in self.asked]

    def answer(self, exchange: Exchange) -> None:
        headers = {name.lower(): value for name, value in exchange.headers.items()}
        self.asked.append(Asked(exchange.command, exchange.path, headers))
        target = urlsplit(exchange.path)
        path = unquote(target.path)
        faults = self._faults.get(path, [])
        if faults and faults.pop(0)(exchange):
            exchange.close_connection = True
            return
        found = _GIT.fullmatch(path)
        if found is None:
            exchange.send(404, {}, b"no such page\n")
            return
        smart_http.serve(exchange, found["name"], found["tail"], target.query)

    def close(self) -> None:
        self.closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        self._folder.cleanup()

    def __enter__(self) -> Forge:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()
