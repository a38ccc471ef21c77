"""Calls of a server, over the standard library's HTTP: importing a richer one takes longer than an execution.

A program that is being followed belongs to its follower: a connection that breaks ends it, as a closed terminal would.
A run does not: it is followed in runs/.
"""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from drydock import __version__
from drydock.errors import CannotStart, Invalid

CONNECT_WITHIN = 10.0
SILENT_AT_MOST = 60.0
"""Seconds without a byte; the server sends a comment every 15."""
LONGEST_LINE = 1 << 20
"""Bytes of one line of an execution's stream; the server's pieces are a sixteenth of it."""


class Refused(CannotStart):
    """The server answered with an error; its own words are passed on."""

    def __init__(
        self, message: str, *, where: str | None = None, hint: str | None = None, answered: int = 0, told: str = ""
    ) -> None:
        """`answered` is the HTTP status, `told` the code of the error if it is one of Drydock's."""
        super().__init__(message, where=where, hint=hint)
        self.answered, self.told = answered, told


class NoServer(CannotStart):
    """Nobody answers there."""

    hint = "Start one with `drydock serve`, or name another with --url or DRYDOCK_URL."


@dataclass(frozen=True, slots=True)
class Event:
    id: str
    name: str
    data: Mapping[str, Any]


class Server:
    """One connection at a time to one server."""

    def __init__(self, url: str, key: str | None) -> None:
        parts = urlsplit(url if "//" in url else f"http://{url}")
        try:
            port = parts.port
        except ValueError:
            port = -1
        if parts.scheme not in ("http", "https") or not parts.hostname or port == -1:
            raise Invalid(
                f"{url!r} is not a server's address", where="--url", hint="It looks like http://127.0.0.1:8080"
            )
        self.url = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
        self._tls = parts.scheme == "https"
        self._host, self._port, self._base = parts.hostname, port, parts.path.rstrip("/")
        self._headers = {"User-Agent": f"drydock/{__version__}"} | ({"Authorization": f"Bearer {key}"} if key else {})

    def start(self, body: Mapping[str, Any]) -> Following:
        return Following(self.url, *self._ask("POST", "/v1/executions", body, {"Accept": "text/event-stream"}))

    def get(self, path: str) -> bytes:
        connection, reply = self._ask("GET", path)
        try:
            return reply.read()
        finally:
            connection.close()

    def post(
        self,
        path: str,
        body: Mapping[str, Any],
        *,
        silent_at_most: float = SILENT_AT_MOST,
        headers: Mapping[str, str] | None = None,
    ) -> bytes:
        connection, reply = self._ask("POST", path, body, headers, silent_at_most)
        try:
            return reply.read()
        finally:
            connection.close()

    def stream(self, path: str, *, after: int, longest: int) -> Iterator[Event]:
        """Server-sent events after that number, as long as the server sends them; OSError or HTTPException when the
        connection breaks. Nothing when all were seen."""
        headers = {"Accept": "text/event-stream", "Last-Event-ID": str(after)}
        connection, reply = self._ask("GET", path, headers=headers)
        try:
            yield from _events(reply, longest)
        finally:
            connection.close()

    def delete(self, path: str) -> None:
        connection, reply = self._ask("DELETE", path)
        reply.read()
        connection.close()

    def cancel(self, execution: str) -> None:
        self.delete(f"/v1/executions/{execution}")

    def _ask(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        silent_at_most: float = SILENT_AT_MOST,
    ) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        connection = self._connect(silent_at_most)
        sent = None if body is None else json.dumps(body).encode()
        kind = {} if body is None else {"Content-Type": "application/json"}
        try:
            connection.request(method, self._base + path, sent, {**self._headers, **kind, **(headers or {})})
            reply = connection.getresponse()
        except (OSError, http.client.HTTPException) as wrong:
            connection.close()
            raise NoServer(f"{self.url} did not answer: {wrong or type(wrong).__name__}") from None
        if reply.status >= 400:
            text = reply.read()
            connection.close()
            raise _refused(reply.status, text)
        return connection, reply

    def _connect(self, silent_at_most: float) -> http.client.HTTPConnection:
        connection: http.client.HTTPConnection
        if self._tls:
            context = ssl.create_default_context()
            connection = http.client.HTTPSConnection(self._host, self._port, timeout=CONNECT_WITHIN, context=context)
        else:
            connection = http.client.HTTPConnection(self._host, self._port, timeout=CONNECT_WITHIN)
        try:
            connection.connect()
        except OSError as wrong:
            raise NoServer(f"no server at {self.url}: {wrong.strerror or wrong}") from None
        connection.sock.settimeout(silent_at_most)
        return connection


class Following:
    """An execution that has been ordered, and its events as they come."""

    def __init__(self, url: str, connection: http.client.HTTPConnection, reply: http.client.HTTPResponse) -> None:
        self.id: str = reply.getheader("X-Run-Id", "")
        self._url = url
        self._connection = connection
        self._reply = reply

    def __iter__(self) -> Iterator[Event]:
        """Up to `ended`; NoServer when the connection breaks before."""
        try:
            for event in _events(self._reply, LONGEST_LINE):
                yield event
                if event.name == "ended":
                    return
        except (OSError, http.client.HTTPException):
            pass
        finally:
            self._connection.close()
        raise NoServer(
            f"{self._url} broke off before the execution had ended",
            hint=f"It ends a program whose follower is gone; GET /v1/executions/{self.id} says how far that came.",
        )


def _events(stream: http.client.HTTPResponse, longest: int) -> Iterator[Event]:
    """Server-sent events, as the HTML standard has them; comments only keep the connection alive."""
    number, name = "", "message"
    data: list[str] = []
    while raw := stream.readline(longest):
        line = raw.decode("utf-8", "replace").rstrip("\r\n")
        if not line:
            if data:
                yield Event(number, name, json.loads("\n".join(data)))
            name, data = "message", []
            continue
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "id":
            number = value
        elif field == "event":
            name = value
        elif field == "data":
            data.append(value)


def _refused(status: int, text: bytes) -> Refused:
    try:
        error = json.loads(text)["error"]
        told = error if isinstance(error, dict) else {"message": error}
        return Refused(
            str(told["message"]),
            where=told.get("where"),
            hint=told.get("hint") or _ASK_AGAIN,
            answered=status,
            told=str(told.get("code", "")),
        )
    except (ValueError, KeyError, TypeError):
        return Refused(
            f"the server answered {status}, in no form of Drydock's",
            hint="Is --url that of a Drydock?",
            answered=status,
        )


_ASK_AGAIN = "Look at the request, and at the server's log."
