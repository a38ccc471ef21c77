"""A request of git's, read strictly: one of three kinds, known headers, a body that is passed on as it comes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Literal

import httptools

ROOT = "/repository"
"""Where git's box finds the one repository that its door leads to."""
HEAD_BYTES = 16 * 1024
READ = 64 * 1024
_HEADERS = {
    "content-type": {"application/x-git-upload-pack-request", "application/x-git-receive-pack-request"},
    "content-encoding": {"gzip"},
    "git-protocol": {"version=1", "version=2"},
}
"""Those that are passed on, each with the values that it may have."""
Step = Literal["refs", "work"]


class BadRequest(Exception):
    """What came through the door is no request of git's."""


class Asked:
    """The methods named `on_` are what the parser calls."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self.headers: dict[str, str] = {}
        self.step: Step = "refs"
        self.length: int | None = None
        """Of its body, when that is told beforehand."""
        self._reader = reader
        self._parser = httptools.HttpRequestParser(self)
        self._target = b""
        self._pieces: list[bytes] = []
        self._whole = self._ended = False
        self._fed = 0

    async def head(self, service: str) -> None:
        """Read as far as its body; BadRequest for all but the two requests of this service."""
        while not self._whole:
            await self._feed()
            if not self._whole and self._fed > HEAD_BYTES:
                raise BadRequest
        known: dict[tuple[bytes, str], Step] = {
            (b"GET", f"{ROOT}/info/refs?service={service}"): "refs",
            (b"POST", f"{ROOT}/{service}"): "work",
        }
        step = known.get((self._parser.get_method(), self._target.decode("latin-1")))
        if step is None or (step == "work") != ("content-type" in self.headers):
            raise BadRequest
        self.step = step

    async def body(self) -> AsyncIterator[bytes]:
        while True:
            if self._pieces:
                piece = b"".join(self._pieces)
                self._pieces.clear()
                yield piece
            elif self._ended:
                return
            else:
                await self._feed()

    async def _feed(self) -> None:
        data = await self._reader.read(READ)
        if not data:
            raise BadRequest
        self._fed += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            raise BadRequest from None

    def on_url(self, url: bytes) -> None:
        self._target += url
        if len(self._target) > HEAD_BYTES:
            raise BadRequest

    def on_header(self, name: bytes, value: bytes) -> None:
        key, told = name.decode("latin-1").lower(), value.decode("latin-1")
        if key in _HEADERS:
            if told not in _HEADERS[key] or key in self.headers:
                raise BadRequest
            self.headers[key] = told
        elif key == "content-length" and told.isdecimal() and len(told) < 16:
            self.length = int(told)

    def on_headers_complete(self) -> None:
        self._whole = True

    def on_body(self, data: bytes) -> None:
        self._pieces.append(data)

    def on_message_complete(self) -> None:
        self._ended = True
