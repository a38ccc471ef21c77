"""What goes back into the box: a head of our own making, a body in one framing, or the end of the connection."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from http import HTTPStatus

from drydock.egress.denial import Refused

SLICE = 64 * 1024
"""What a program does not read waits in our memory, this much of it at once."""
_VALUE = re.compile(r"[ -~]{1,1000}", re.ASCII)


class Reply:
    """One answer to one request."""

    def __init__(self, writer: asyncio.StreamWriter, *, bodiless: bool, last: bool, patience: float) -> None:
        self._writer = writer
        self._bodiless = bodiless
        self._patience = patience
        self._chunked = False
        self._left: int | None = None
        self.begun = False
        self.last = last
        """The connection ends with this answer."""

    async def begin(self, status: int, headers: Mapping[str, str], length: int | None) -> None:
        """`length` None: it is not known yet, the body goes in chunks."""
        self.begun = True
        self._bodiless = self._bodiless or status in (204, 304)
        self._left = length
        self._chunked = length is None and not self._bodiless
        told = {name: value for name, value in headers.items() if _VALUE.fullmatch(value)}
        if self._chunked:
            told["transfer-encoding"] = "chunked"
        elif length is not None and status not in (204, 304):
            told["content-length"] = str(length)
        told["connection"] = "close" if self.last else "keep-alive"
        lines = [f"HTTP/1.1 {status} {_phrase(status)}", *(f"{name}: {value}" for name, value in told.items()), "", ""]
        self._writer.write("\r\n".join(lines).encode("latin-1"))
        await self._drain()

    async def write(self, data: bytes) -> None:
        if self._bodiless or not data:
            return
        if self._left is not None:
            if len(data) > self._left:  # the rest would pass for the answer to the next request
                raise Refused("upstream", "the other side sent more than it had promised; try again later", status=502)
            self._left -= len(data)
        for at in range(0, len(data), SLICE):
            piece = data[at : at + SLICE]
            self._writer.write(b"%x\r\n%b\r\n" % (len(piece), piece) if self._chunked else piece)
            await self._drain()

    async def end(self) -> None:
        if self._chunked:
            self._writer.write(b"0\r\n\r\n")
        elif self._left and not self._bodiless:
            self.last = True  # less came than was promised: only the connection's end can say so
        await self._drain()

    async def whole(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        await self.begin(status, headers, len(body))
        await self.write(body)
        await self.end()

    async def refuse(self, refused: Refused) -> None:
        """The sentence, if nothing was sent yet; else a cut that no client takes for the end of a body."""
        if self.begun:
            self.last = True
            self._writer.transport.abort()
            return
        body = (refused.denial.sentence + "\n").encode()
        kind = refused.denial.kind
        await self.whole(refused.status, {"content-type": "text/plain; charset=utf-8", "x-drydock-denial": kind}, body)

    async def _drain(self) -> None:
        try:
            async with asyncio.timeout(self._patience):
                await self._writer.drain()
        except TimeoutError:
            sentence = (
                f"the program did not read what it asked for within {self._patience:g} s; read replies as they come"
            )
            raise Refused("slow", sentence) from None


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Status"
