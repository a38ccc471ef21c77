"""Answers of providers, bounded: an address of one's own, or somebody in its place, may send without end.

Imported where a model is really asked, since it imports the library that asks.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx2

MOST_BYTES = 32 << 20
"""Of one answer, as it is on the wire. The longest that a model can write is a tenth of that."""
HEADERS = {"Accept-Encoding": "identity"}
"""A compressed answer could be a thousand times what was counted, so none is taken."""


class Bounded(httpx2.AsyncBaseTransport):
    def __init__(self, most: int = MOST_BYTES) -> None:
        self._inner, self._most = httpx2.AsyncHTTPTransport(), most

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await self._inner.handle_async_request(request)
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            await response.aclose()
            raise httpx2.ReadError("the answer is compressed, which was not asked for")
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _Counted(response.stream, self._most)
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()


class _Counted(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, left: int) -> None:
        self._stream, self._left = stream, left

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._stream:
            self._left -= len(piece)
            if self._left < 0:
                raise httpx2.ReadError("the answer is longer than an answer may be")
            yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()
