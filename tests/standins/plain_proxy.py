"""A forward proxy as people write them first, and an index behind it: whatever is asked for is fetched, by whatever
method, wherever it leads, with the login for all, and for as long as it takes.

Speaks the relay's own language: `GET https://host/path` for the web, `/pypi/simple/NAME/` for a page of the index.
"""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import Awaitable, Callable
from urllib.parse import urljoin, urlsplit

Reach = Callable[[str, int], Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]
"""Resolves a name and connects to the first address that answers."""


class PlainProxy:
    def __init__(self, reach: Reach, index: str, login: str) -> None:
        self._reach, self._index, self._login = reach, index, login

    async def handler(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            method, target, *_ = head.split(" ", 2)
            headers = [line for line in head.split("\r\n")[1:] if line and not line.lower().startswith("connection:")]
            url = target if "://" in target else self._index + target.removeprefix("/pypi/simple/")
            await self._pass_on(method, url, headers, writer)
        except (OSError, ValueError, asyncio.IncompleteReadError):
            writer.write(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
        finally:
            writer.close()

    async def _pass_on(self, method: str, url: str, headers: list[str], writer: asyncio.StreamWriter) -> None:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        up, out = await self._reach(parts.hostname or "", port)
        if parts.scheme == "https":
            await out.start_tls(_anybody())
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        told = [f"{method} {path} HTTP/1.1", *headers, "Connection: close"]
        told += [f"Authorization: {self._login}"] if self._login else []
        out.write("\r\n".join([*told, "", ""]).encode("latin-1"))
        try:
            head = await up.readuntil(b"\r\n\r\n")
            moved = re.search(rb"^location: *([^\r\n]+)", head, re.IGNORECASE | re.MULTILINE)
            if moved and head.split(b" ")[1].startswith(b"3"):
                await self._pass_on(method, urljoin(url, moved[1].decode("latin-1")), headers, writer)
                return
            writer.write(head)
            while piece := await up.read(65536):
                writer.write(piece)
                await writer.drain()
        finally:
            out.close()


def _anybody() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
