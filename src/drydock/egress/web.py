"""The grant `web`: GET and HEAD by https of hosts whose every address is public."""

from __future__ import annotations

import asyncio

from drydock.egress.address import Kind
from drydock.egress.denial import Refused, place
from drydock.egress.head import Head
from drydock.egress.meter import Meter
from drydock.egress.packages import TOLD, failed
from drydock.egress.reply import Reply
from drydock.egress.upstream import Upstream
from drydock.egress.url import URL, BadURL, parse


class Web:
    def __init__(self, upstream: Upstream, meter: Meter) -> None:
        self._upstream = upstream
        self._meter = meter

    async def serve(self, head: Head, reply: Reply) -> None:
        url = target(head)
        seconds = self._meter.bounds.web_seconds
        try:
            async with asyncio.timeout(seconds):
                await self._pass_on(url, head, reply)
        except TimeoutError:
            sentence = f"{url.host} was not done after {seconds:g} s; ask for a smaller page or another host"
            raise Refused("slow", sentence, host=url.host, path=url.path, status=504) from None

    async def _pass_on(self, url: URL, head: Head, reply: Reply) -> None:
        most = self._meter.bounds.web_bytes
        async with self._upstream.fetch(
            head.method, url, {"Accept": "*/*"}, furthest=Kind.PUBLIC, judge=judge
        ) as answer:
            if answer.status < 200:
                raise failed(answer)
            if head.method == "GET" and (answer.length or 0) > most:
                raise _too_large(url, most)
            told = {name: answer.headers[name] for name in TOLD if name in answer.headers}
            await reply.begin(answer.status, told, answer.length)
            received = 0
            async for piece in answer.body():
                received += len(piece)
                if received > most:
                    raise _too_large(url, most)
                await reply.write(piece)
            await reply.end()


def target(head: Head) -> URL:
    """What an absolute-form request asks for; its Host header has to say the same."""
    try:
        url = parse(head.target)
    except BadURL as wrong:
        raise Refused("spelling", str(wrong), path=head.target, status=400) from None
    host = head.headers["host"].lower()
    if host not in (url.authority, f"{url.authority}:{url.port}"):
        sentence = f"the Host header and the URL name two hosts; send `Host: {url.authority}`"
        raise Refused("spelling", sentence, host=place(head.headers["host"])[0], path=head.target, status=400)
    judge(url)
    return url


def judge(url: URL) -> None:
    if url.scheme != "https":
        raise Refused("scheme", "only https is granted; ask for https://...", host=url.host, path=url.path)
    if url.port != 443:
        raise Refused("port", "only port 443 is granted; ask without a port", host=url.host, path=url.path)


def _too_large(url: URL, most: int) -> Refused:
    return Refused("size", f"a reply may have {most} bytes; ask for a smaller page", host=url.host, path=url.path)
