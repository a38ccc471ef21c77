"""A package index over real HTTP: one host for its pages, a second one (another port) for the files.

    with Index() as index:
        index.publish(wheel("alpha"), tarball("beta"))
        index.pypi    http://127.0.0.1:PORT/simple/      HTML (PEP 503) or JSON (PEP 691), PEP 658 metadata
        index.npm     http://127.0.0.1:PORT/npm/
        index.asked   what came to the host of the pages; `index.files.asked`, what came to the host of the files
        index.behave("/simple/alpha/", status(500))      a fault, on either host

`Index(login=("user", "pass"))` asks for basic authentication on its own host; the file host never gets it.
`Index(apart=False)` serves the files from its own host, as many private indexes do.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any
from urllib.parse import unquote, urlsplit

from tests.standins.wheels import Package

SIMPLE_JSON = "application/vnd.pypi.simple.v1+json"
NPM_SHORT = "application/vnd.npm.install-v1+json"


@dataclass(frozen=True)
class Asked:
    """One request as it came."""

    method: str
    target: str
    headers: Mapping[str, str]
    """Names in lower case."""


@dataclass(frozen=True)
class Page:
    """An answer, and what a fault may change."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Exchange(BaseHTTPRequestHandler):
    """One request and the answer to it; faults work on this."""

    protocol_version = "HTTP/1.1"
    host: Host

    def do_GET(self) -> None:
        self.host.answer(self)

    do_HEAD = do_GET
    do_POST = do_GET
    do_PUT = do_GET

    def send(self, page: Page) -> None:
        body, status, headers = page.body, page.status, dict(page.headers)
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)|bytes=-(\d+)", self.headers.get("Range", ""))
        if status == 200 and "Accept-Ranges" in headers and asked:
            first = int(asked[1]) if asked[1] else max(0, len(body) - int(asked[3]))
            last = min(int(asked[2]) if asked[2] else len(body) - 1, len(body) - 1)
            status, headers["Content-Range"] = 206, f"bytes {first}-{last}/{len(body)}"
            body = body[first : last + 1]
        elif status == 200 and self.headers.get("If-None-Match") == headers.get("ETag", ""):
            status, body = 304, b""
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def wait(self, seconds: float | None = None) -> bool:
        """Until the stand-in closes, at most so long; whether it has."""
        return self.host.closing.wait(seconds)

    def log_message(self, format: str, *args: Any) -> None:
        pass


Behaviour = Callable[[Exchange, Page], None]
"""What a host does instead of sending the page."""


def status(code: int, **headers: str) -> Behaviour:
    """Answer with this status; `headers` by name, `_` for `-`."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda exchange, page: exchange.send(Page(code, named, b"no such luck\n"))


def redirect(url: str, code: int = 302) -> Behaviour:
    return status(code, Location=url)


def slow(exchange: Exchange, page: Page) -> None:
    """Take the request and say nothing until the stand-in closes."""
    exchange.wait()
    exchange.close_connection = True


def drip(exchange: Exchange, page: Page) -> None:
    """The right answer, a byte every tenth of a second."""
    exchange.send(Page(page.status, {**page.headers, "Content-Length": str(len(page.body))}, b""))
    for byte in page.body:
        if exchange.wait(0.1):
            break
        exchange.wfile.write(bytes([byte]))
        exchange.wfile.flush()


def endless(exchange: Exchange, page: Page) -> None:
    """A chunked answer that has no end."""
    exchange.send_response(200)
    exchange.send_header("Content-Type", page.headers.get("Content-Type", "text/html"))
    exchange.send_header("Transfer-Encoding", "chunked")
    exchange.end_headers()
    chunk = b"10000\r\n" + b"<a" * 0x8000 + b"\r\n"
    while not exchange.wait(0):
        exchange.wfile.write(chunk)


def cut(exchange: Exchange, page: Page) -> None:
    """Half of the body that its length promised, then the end of the connection."""
    exchange.send(
        Page(page.status, {**page.headers, "Content-Length": str(len(page.body))}, page.body[: -len(page.body) // 2])
    )
    exchange.close_connection = True


def corrupt(exchange: Exchange, page: Page) -> None:
    """A body of the same length that has another hash."""
    exchange.send(Page(page.status, page.headers, page.body[:-1] + bytes([page.body[-1] ^ 1])))


def instead(body: bytes, **headers: str) -> Behaviour:
    """Another body (a bomb, a page of someone else's making), under the page's own headers and these."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda exchange, page: exchange.send(Page(page.status, {**page.headers, **named}, body))


class Host:
    """One listening port: pages by path, faults by path, and a log."""

    def __init__(
        self,
        name: str = "127.0.0.1",
        login: tuple[str, str] | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.asked: list[Asked] = []
        self.pages: Callable[[str, Asked], Page | None] = lambda path, asked: None
        self.closing = threading.Event()
        self._login = "Basic " + base64.b64encode(":".join(login).encode()).decode() if login else None
        self._behaviours: dict[str, Behaviour] = {}
        self._server = ThreadingHTTPServer((name, 0), type("BoundExchange", (Exchange,), {"host": self}))
        self._server.daemon_threads = True
        self._server.handle_error = lambda request, client_address: None  # type: ignore[method-assign]
        if tls is not None:
            # The handshake belongs to the connection's own thread: a slow client must not keep others waiting.
            listener = self._server.socket
            self._server.socket = tls.wrap_socket(listener, server_side=True, do_handshake_on_connect=False)
        self.port: int = self._server.server_address[1]
        self.origin = f"http://{name}:{self.port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def behave(self, path: str, behaviour: Behaviour) -> None:
        """From now on a request for this path (without its query) gets this."""
        self._behaviours[path] = behaviour

    def paths(self) -> list[str]:
        return [asked.target for asked in self.asked]

    def answer(self, exchange: Exchange) -> None:
        headers = {name.lower(): value for name, value in exchange.headers.items()}
        asked = Asked(exchange.command, exchange.path, headers)
        self.asked.append(asked)
        path = unquote(urlsplit(exchange.path).path)
        if self._login and headers.get("authorization") != self._login:
            exchange.send(Page(401, {"WWW-Authenticate": 'Basic realm="index"'}, b"who are you?\n"))
            return
        page = self.pages(path, asked) or Page(404, {"Content-Type": "text/plain"}, b"no such page\n")
        behaviour = self._behaviours.get(path)
        if behaviour is None:
            exchange.send(page)
        else:
            behaviour(exchange, page)

    def close(self) -> None:
        self.closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class Index(Host):
    def __init__(self, *, login: tuple[str, str] | None = None, apart: bool = True, json: bool = True) -> None:
        super().__init__(login=login)
        self.published: list[Package] = []
        self.files: Host = Host() if apart else self
        self.json = json
        """Whether it knows the JSON form of pages; the older indexes do not."""
        self.links = "absolute"
        """How pages name files: `absolute`, `relative` (own host), or in HTML by `base` (<base href>)."""
        self.yanked: dict[str, str] = {}
        """Filename -> why."""
        self.pypi = f"{self.origin}/simple/"
        self.npm = f"{self.origin}/npm/"
        self.pages = self._page
        if apart:
            self.files.pages = self._file

    def publish(self, *packages: Package) -> None:
        self.published += packages

    def url(self, package: Package) -> str:
        """Where a package's file is."""
        return self.files.origin + self.path(package)

    def path(self, package: Package) -> str:
        return f"/files/{package.ecosystem}/{package.name}/{package.filename}"

    def of(self, ecosystem: str, name: str) -> list[Package]:
        return [one for one in self.published if one.ecosystem == ecosystem and _normal(one.name) == _normal(name)]

    def close(self) -> None:
        if self.files is not self:
            self.files.close()
        super().close()

    def __enter__(self) -> Index:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _page(self, path: str, asked: Asked) -> Page | None:
        accepts = asked.headers.get("accept", "")
        simple = re.fullmatch(r"/simple/([^/]+)/", path)
        if simple and (found := self.of("pypi", simple[1])):
            if self.json and SIMPLE_JSON in accepts:
                return Page(200, {"Content-Type": SIMPLE_JSON}, self._simple_json(simple[1], found))
            return Page(200, {"Content-Type": "text/html"}, self._simple_html(simple[1], found))
        npm = re.fullmatch(r"/npm/((?:@[^/]+/)?[^/@]+)", path)
        if npm and (found := self.of("npm", npm[1])):
            kind = NPM_SHORT if NPM_SHORT in accepts else "application/json"
            return Page(200, {"Content-Type": kind}, self._packument(npm[1], found))
        return self._file(path, asked)

    def _file(self, path: str, asked: Asked) -> Page | None:
        for package in self.published:
            if path == self.path(package):
                etag = f'"{package.sha256[:16]}"'
                headers = {"Content-Type": "application/octet-stream", "Accept-Ranges": "bytes", "ETag": etag}
                return Page(200, headers, package.data)
            if path == self.path(package) + ".metadata" and package.ecosystem == "pypi" and package.metadata:
                return Page(200, {"Content-Type": "text/plain"}, package.metadata)
        return None

    def _simple_json(self, name: str, found: list[Package]) -> bytes:
        files = []
        for package in found:
            entry: dict[str, object] = {
                "filename": package.filename,
                "url": self._link(package),
                "hashes": {"sha256": package.sha256},
                "size": len(package.data),
                "upload-time": "2020-01-01T00:00:00Z",
                "yanked": self.yanked.get(package.filename, False),
            }
            if package.metadata:
                entry["core-metadata"] = {"sha256": hashlib.sha256(package.metadata).hexdigest()}
            if package.requires_python:
                entry["requires-python"] = package.requires_python
            files.append(entry)
        versions = sorted({package.version for package in found})
        page = {"meta": {"api-version": "1.1"}, "name": _normal(name), "versions": versions, "files": files}
        return json.dumps(page).encode()

    def _simple_html(self, name: str, found: list[Package]) -> bytes:
        base = f'<base href="{self.files.origin}/files/pypi/">' if self.links == "base" else ""
        head = f"<head>{base}<title>{name}</title></head>"
        anchors = "".join(map(self._anchor, found))
        return f"<!DOCTYPE html><html>{head}<body>{anchors}</body></html>".encode()

    def _anchor(self, package: Package) -> str:
        href = self.path(package).removeprefix("/files/pypi/") if self.links == "base" else self._link(package)
        attributes = {"href": f"{href}#sha256={package.sha256}"}
        if package.metadata:
            attributes["data-core-metadata"] = f"sha256={hashlib.sha256(package.metadata).hexdigest()}"
        if package.requires_python:
            attributes["data-requires-python"] = package.requires_python
        if package.filename in self.yanked:
            attributes["data-yanked"] = self.yanked[package.filename]
        told = " ".join(f'{name}="{html.escape(value)}"' for name, value in attributes.items())
        return f"<a {told}>{package.filename}</a><br>\n"

    def _link(self, package: Package) -> str:
        if self.links == "relative":
            return "../.." + self.path(package)
        return self.url(package)

    def _packument(self, name: str, found: list[Package]) -> bytes:
        versions = dict(self._versions(found))
        latest = found[-1].version
        return json.dumps({"name": name, "dist-tags": {"latest": latest}, "versions": versions}).encode()

    def _versions(self, found: list[Package]) -> Iterator[tuple[str, dict[str, object]]]:
        for package in found:
            manifest = json.loads(package.metadata or b"{}")
            scripts = manifest.get("scripts", {})
            if {"preinstall", "install", "postinstall"} & set(scripts):
                manifest["hasInstallScript"] = True
            shasum = hashlib.sha1(package.data, usedforsecurity=False).hexdigest()
            dist = {"tarball": self.url(package), "integrity": package.integrity, "shasum": shasum}
            yield package.version, {**manifest, "dist": dist}


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
