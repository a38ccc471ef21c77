"""The connection's own rules, in front of everything else.

uvicorn has no limit on how long a head or a body may take, none on the size of a head, tells only the newest of
several pipelined requests that the client has gone, and appends trailers to the headers. This class mends that. It
leans on uvicorn's `HttpToolsProtocol`, whose version the lock file pins.
"""

from __future__ import annotations

import asyncio
import uuid
from http import HTTPStatus
from typing import Any

import httptools
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from drydock.api.reply_writer import ReplyWriter
from drydock.api.text import write

HEAD_LIMIT = 64 * 1024
FRAMING = (b"content-length", b"transfer-encoding")
PIPELINED = 8
"""Requests that may wait behind the running one while we go on reading, so that a client's leaving is seen."""
DISCARDED = 64 << 20
"""Bytes of a body that nobody wants, taken in after the reply so that the client gets to read it."""


class Wire(HttpToolsProtocol):
    receive_timeout = 30.0
    """Seconds for a head, and then for a body; set by `wire_class`."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._awaiting = "head"
        self._deadline: asyncio.TimerHandle | None = None
        self._head_bytes = 0
        self._discarded = 0
        self._upgrading: bytes | None = None
        """The framing headers of a request whose wish for another protocol is being passed over."""
        self._muted = False
        self._running: RequestResponseCycle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._arm()

    def connection_lost(self, exc: Exception | None) -> None:
        self._disarm()
        running = self._running
        super().connection_lost(exc)
        if running is not None and not running.response_complete:
            running.disconnected = True
            running.message_event.set()

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        if self._awaiting == "nothing":
            # Counted from the first byte, whatever it is: empty lines before a request must not hold the connection.
            self._awaiting = "head"
            self._arm()
        self._unset_keepalive_if_required()
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as stopped:
            self._go_on_without_upgrade(data[stopped.args[0] :])
        except httptools.HttpParserError:
            self._refuse(400, "invalid", "this is not a valid HTTP request", "Send one that is framed in one way only.")
        else:
            if self._awaiting == "head":
                self._head_bytes += len(data)
                self._check_head()

    def on_url(self, url: bytes) -> None:
        if self._muted:
            return
        super().on_url(url)
        self._head_bytes += len(url)

    def on_message_begin(self) -> None:
        if self._muted:
            return
        super().on_message_begin()
        self._awaiting = "head"
        self._head_bytes = 0
        if self._deadline is None:
            self._arm()

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._awaiting == "body" or self._muted:
            return  # a trailer: it came after the head was judged, and must not be taken for a header
        self._head_bytes += len(name) + len(value) + 4
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        if self._muted or self.transport.is_closing() or not self._check_head():
            return
        hosts = sum(name == b"host" for name, _ in self.headers)
        if hosts > 1 or (hosts == 0 and self.parser.get_http_version() == "1.1"):
            self._refuse(400, "invalid", "a request needs exactly one Host header", "Send one Host header.")
            return
        framing = [(name, value) for name, value in self.headers if name in FRAMING]
        if any(name == b"transfer-encoding" and value.strip().lower() != b"chunked" for name, value in framing):
            self._refuse(400, "invalid", "the only known Transfer-Encoding is chunked", "Send Content-Length instead.")
            return
        if self.parser.should_upgrade():
            self._upgrading = b"".join(name + b": " + value + b"\r\n" for name, value in framing)
        self._awaiting = "body"
        self._arm()
        super().on_headers_complete()
        if len(self.pipeline) < PIPELINED:
            self.flow.resume_reading()

    def on_body(self, body: bytes) -> None:
        if self.cycle is None or self.transport.is_closing():
            return
        super().on_body(body)
        if self.cycle.response_complete:
            self._discarded += len(body)
            if self._discarded > DISCARDED:
                self.transport.close()

    def on_message_complete(self) -> None:
        if self.cycle is None or self.transport.is_closing() or (self._upgrading is not None and not self._muted):
            return
        super().on_message_complete()
        self._disarm()
        self._awaiting = "nothing"
        self._head_bytes = 0
        if self.cycle.response_complete and self.timeout_keep_alive_task is None:
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )

    def send_400_response(self, msg: str) -> None:
        self._refuse(400, "invalid", msg, "Send a valid HTTP request.")

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._running = cycle
        cycle.transport = ReplyWriter(cycle.transport, cycle)
        super()._start_asgi_task(cycle, app)

    def _go_on_without_upgrade(self, rest: bytes) -> None:
        """The parser stops at the end of a head that asks for another protocol (Java's client does, by default, with
        each POST). We offer none and answer in HTTP/1.1, so its body is still to be read: a new parser gets a head
        with the same framing, whose callbacks are ignored, and then what has come."""
        if self.transport.is_closing():
            return
        self.parser = httptools.HttpRequestParser(self)
        self._muted = True
        self.parser.feed_data(b"POST / HTTP/1.1\r\nHost: again\r\n" + (self._upgrading or b"") + b"\r\n")
        self._muted = False
        self._upgrading = None
        if rest:
            self.data_received(rest)

    def _check_head(self) -> bool:
        if self._head_bytes <= HEAD_LIMIT:
            return True
        self._refuse(431, "too_large", f"the head is over {HEAD_LIMIT} bytes", "Send fewer or shorter headers.")
        return False

    def _arm(self) -> None:
        self._disarm()
        self._deadline = self.loop.call_later(self.receive_timeout, self._too_slow)

    def _disarm(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _too_slow(self) -> None:
        if self.flow.read_paused:
            self._arm()  # it is we who do not read
        elif not self.transport.is_closing():
            self.transport.close()

    def _refuse(self, status: int, code: str, message: str, hint: str) -> None:
        """An answer made before there is a request, and the end of the connection."""
        if self.transport.is_closing():
            return
        self._disarm()
        if self._running is None or self._running.response_complete:
            request_id = str(uuid.uuid4())
            told = {"code": code, "message": message, "hint": hint, "request_id": request_id}
            body = write({"error": told}) + b"\n"
            head = (
                f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\ncontent-type: application/json\r\n"
                f"content-length: {len(body)}\r\nx-request-id: {request_id}\r\nconnection: close\r\n\r\n"
            )
            self.transport.write(head.encode() + body)
        self.transport.close()


def wire_class(receive_timeout: float) -> type[Wire]:
    return type("Wire", (Wire,), {"receive_timeout": receive_timeout})
