"""What a reply is written to: its head waits for the first part of its body, so that both wake the reader once.

uvicorn writes them in two calls, and uvloop makes two packets of that.
"""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

JOINED = 1 << 16
"""Bytes of a body that are copied behind their head; more of them go out in several packets anyway."""


class ReplyWriter(asyncio.Transport):
    """In front of the connection's transport, for one reply."""

    def __init__(self, transport: asyncio.Transport, reply: RequestResponseCycle) -> None:
        super().__init__()
        self._transport, self._reply = transport, reply
        self._head: bytes | None = None
        self._begun = False

    def write(self, data: bytes) -> None:  # type: ignore[override]
        if self._reply.response_started and not self._begun:
            self._begun = True
            if self._reply.scope["method"] != "HEAD":  # uvicorn writes it no body, be it an empty one
                self._head = data
                return
        head, self._head = self._head, None
        if head is not None and len(data) <= JOINED:
            data = head + data
        elif head is not None:
            self._transport.write(head)
        self._transport.write(data)

    def is_closing(self) -> bool:
        return self._transport.is_closing()

    def close(self) -> None:
        if self._head is not None:
            self.write(b"")
        self._transport.close()
