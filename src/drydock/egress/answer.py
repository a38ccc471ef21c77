"""What a host outside sends, read by llhttp: one framing, no leniency, time linear to its bytes."""

from __future__ import annotations

import httptools

HEAD_BYTES = 64 * 1024
INTERIM = 8
"""Answers with 1xx before the one that counts."""


class BadAnswer(ValueError):
    """Half a sentence about what is wrong with it."""


class Reading:
    """One answer as it comes. The methods named `on_` are what the parser calls."""

    def __init__(self) -> None:
        self.status = 0
        """0 until its head is whole."""
        self.headers: dict[str, str] = {}
        """Names in lower case; of several with one name, the first."""
        self.done = False
        self._parser = httptools.HttpResponseParser(self)
        self._interim = 0
        self._fed = 0
        self._told = 0
        self._pieces: list[bytes] = []

    def feed(self, data: bytes) -> None:
        self._fed += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            if not self.done:  # what follows a whole answer is nobody's
                raise BadAnswer("what it sent is not HTTP") from None
        if not self.status and self._fed > HEAD_BYTES:
            raise BadAnswer("the head of its answer has no end")

    def cut(self) -> None:
        """The connection has ended. BadAnswer unless that is how this body ends."""
        framed = "content-length" in self.headers or "transfer-encoding" in self.headers
        if not self.done and (not self.status or framed):
            raise BadAnswer("it broke off")
        self.done = True

    def take(self) -> bytes:
        """What came of the body since the last time."""
        taken = b"".join(self._pieces)
        self._pieces.clear()
        return taken

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self.status:
            self._told += len(name) + len(value) + 4
            if self._told > HEAD_BYTES:
                raise BadAnswer
            self.headers.setdefault(name.decode("latin-1").lower(), value.decode("latin-1"))

    def on_headers_complete(self) -> None:
        if self.status:
            return
        status = self._parser.get_status_code()
        if self._parser.get_http_version() not in ("1.0", "1.1") or not 100 <= status <= 599:
            raise BadAnswer
        if status < 200:
            self._interim += 1
            self.headers.clear()
            if self._interim > INTERIM:
                raise BadAnswer
            return
        if self.headers.get("transfer-encoding", "chunked").lower() != "chunked":
            raise BadAnswer
        self.status = status

    def on_body(self, data: bytes) -> None:
        if not self.done:
            self._pieces.append(data)

    def on_message_complete(self) -> None:
        self.done = self.status != 0
