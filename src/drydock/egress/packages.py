"""The grant `packages`: the pages of an index, and the files that the pages served to this box linked to."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import quote, unquote

from drydock.egress.address import Kind
from drydock.egress.denial import Refused
from drydock.egress.grants import Ecosystem, FileGrant, PackagesGrant
from drydock.egress.head import Head
from drydock.egress.meter import Meter
from drydock.egress.pages.bad_page import BadPage
from drydock.egress.pages.npm import SHORT_TYPE, rewrite_packument, tarball
from drydock.egress.pages.simple import (
    JSON_TYPE,
    Linked,
    Rewrite,
    parse_simple,
    write_html,
    write_json,
)
from drydock.egress.reply import Reply
from drydock.egress.upstream import Answer, Upstream, redirect
from drydock.egress.url import URL

_SIMPLE = re.compile(r"/pypi/simple/([A-Za-z0-9](?:[A-Za-z0-9._-]{0,126}[A-Za-z0-9])?)/?", re.ASCII)
_NPM_NAME = r"(?:@([A-Za-z0-9~][A-Za-z0-9._~-]{0,126})(?:/|%2[fF]))?([A-Za-z0-9~][A-Za-z0-9._~-]{0,213})"
_NPM = re.compile(rf"/npm/{_NPM_NAME}", re.ASCII)
_TARBALL = re.compile(rf"/npm/{_NPM_NAME}/-/([A-Za-z0-9._~+-]{{1,255}}\.tgz)", re.ASCII)
"""As lock files name a tarball. The package's page decides whether it is one."""
_FILE = re.compile(r"/files/([0-9a-f]{32})/([A-Za-z0-9._+!%-]{1,400})", re.ASCII)
_RANGE = re.compile(r"bytes=(?:\d{1,15}-\d{0,15}|-\d{1,15})", re.ASCII)
_TAG = re.compile(r'(?:W/)?"[\x21\x23-\x7e]{0,128}"', re.ASCII)
_DATE = re.compile(r"[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT", re.ASCII)
_ASKED = {"range": (_RANGE,), "if-range": (_TAG, _DATE), "if-none-match": (_TAG,), "if-modified-since": (_DATE,)}
"""The only headers of the box that go on, each in this form or not at all."""
TOLD = ("content-type", "content-range", "accept-ranges", "etag", "last-modified", "content-encoding")
"""The only headers of a file's host that come back, besides the length."""
_SIMPLE_ACCEPT = f"{JSON_TYPE}, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"
_REMEDY = "ask for /pypi/simple/NAME/ or /npm/NAME, and for files by the links of such a page"
SMALL = 1 << 20
"""Bytes of a page of which this box may have many in our memory."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class File:
    """A file that this box may ask for, since a page that it was served links to it."""

    url: URL
    filename: str
    metadata: bool
    kind: Kind
    """Of the address that the page came from."""
    grant: PackagesGrant


@dataclass(frozen=True, slots=True)
class Page:
    body: bytes
    kind: str
    answer: Answer


class Packages:
    def __init__(
        self, grants: list[PackagesGrant], upstream: Upstream, meter: Meter, files: Sequence[FileGrant] = ()
    ) -> None:
        self._indexes: dict[Ecosystem, PackagesGrant] = {grant.ecosystem: grant for grant in grants}
        self._upstream = upstream
        self._meter = meter
        self._files: dict[str, File] = {
            one.key: File(one.url, one.filename, False, Kind.PUBLIC, PackagesGrant("pypi", one.url)) for one in files
        }
        self._large = asyncio.Semaphore(1)
        self._working = asyncio.Semaphore(2)

    async def serve(self, head: Head, reply: Reply) -> None:
        if project := _SIMPLE.fullmatch(head.target):
            await self._simple(re.sub(r"[-_.]+", "-", project[1]).lower(), head, reply)
        elif package := _NPM.fullmatch(head.target):
            await self._npm(_npm_page(package), head, reply)
        elif locked := _TARBALL.fullmatch(head.target):
            await self._npm_tarball(_npm_page(locked), locked[3], head, reply)
        elif file := _FILE.fullmatch(head.target):
            await self._file(file[1], unquote(file[2]), head, reply)
        else:
            raise Refused("path", f"this is no page of a package index; {_REMEDY}", path=head.target)

    async def _simple(self, name: str, head: Head, reply: Reply) -> None:
        grant = self._index("pypi", head)
        as_json = JSON_TYPE in head.headers.get("accept", "")
        async with self._page(grant, name + "/", _SIMPLE_ACCEPT) as found:
            if isinstance(found, int):
                await _missing(found, name, reply)
                return
            links = self._links(head, found.answer, grant)

            def work() -> bytes:
                page = parse_simple(found.kind, found.body, found.answer.url, name)
                return write_json(page, links) if as_json else write_html(page, links)

            told = await self._done(work, found.answer)
            await reply.whole(200, {"content-type": JSON_TYPE if as_json else "text/html; charset=utf-8"}, told)

    async def _npm(self, name: str, head: Head, reply: Reply) -> None:
        grant = self._index("npm", head)
        kind = SHORT_TYPE if SHORT_TYPE in head.headers.get("accept", "") else "application/json"
        async with self._page(grant, name, kind) as found:
            if isinstance(found, int):
                await _missing(found, name, reply)
                return
            links = self._links(head, found.answer, grant)
            told = await self._done(lambda: rewrite_packument(found.body, found.answer.url, links), found.answer)
            await reply.whole(200, {"content-type": kind}, told)

    async def _npm_tarball(self, name: str, filename: str, head: Head, reply: Reply) -> None:
        """A lock file names tarballs without having seen the page, so the relay looks into it."""
        grant = self._index("npm", head)
        async with self._page(grant, name, SHORT_TYPE) as found:
            if isinstance(found, int):
                await _missing(found, name, reply)
                return
            linked = await self._done(lambda: tarball(found.body, found.answer.url, filename), found.answer)
            kind = found.answer.kind
        if linked is None:
            raise Refused("path", f"the page of {name} links to no {filename}; {_REMEDY}", path=head.target)
        file = File(linked.url, filename, False, kind, grant)
        await self._send(file, file.url, head, reply)

    @asynccontextmanager
    async def _page(self, grant: PackagesGrant, name: str, accept: str) -> AsyncIterator[Page | int]:
        """A page, or the status that says there is none. Of large ones this box has one at a time in our memory."""
        async with AsyncExitStack() as held:
            yield await self._fetched(grant, name, accept, held)

    async def _fetched(self, grant: PackagesGrant, name: str, accept: str, held: AsyncExitStack) -> Page | int:
        index = grant.index
        url = URL(index.scheme, index.host, index.port, index.path + name)
        most = self._meter.bounds.page_bytes

        def judge(hop: URL) -> None:
            if hop != url and not hop.below(index):
                raise redirect(url, "is the index, and redirected to a page that is not below it")

        secret = grant.credential.authorization if grant.credential else None
        async with self._upstream.fetch(
            "GET", url, {"Accept": accept}, furthest=Kind.LOOPBACK, judge=judge, authorization=lambda hops: secret
        ) as answer:
            if answer.status in (404, 410):
                return answer.status
            if answer.status != 200:
                raise failed(answer)
            if answer.headers.get("content-encoding", "identity").lower() != "identity":
                raise _bad(answer, "it is compressed, which was not asked for")
            body = bytearray()
            large = False
            async for piece in answer.body():
                body += piece
                if len(body) > most:
                    raise _bad(answer, f"it is over {most} bytes")
                if not large and len(body) > SMALL:
                    large = True
                    await held.enter_async_context(self._large)
            return Page(bytes(body), answer.headers.get("content-type", ""), answer)

    async def _done(self, work: Callable[[], T], answer: Answer) -> T:
        """In a thread, since a large page takes a second; two at a time, since other boxes need threads too."""
        async with self._working:
            try:
                return await asyncio.to_thread(work)
            except BadPage as wrong:
                raise _bad(answer, str(wrong)) from None

    async def _file(self, key: str, filename: str, head: Head, reply: Reply) -> None:
        file = self._files.get(key)
        if file is None:
            raise Refused("path", f"no page served to this box links to this file; {_REMEDY}", path=head.target)
        url = file.url
        if file.metadata and filename == file.filename + ".metadata":
            url = URL(url.scheme, url.host, url.port, url.path + ".metadata")
        elif filename != file.filename:
            raise Refused("path", f"the page links to {file.filename}; {_REMEDY}", path=head.target)
        await self._send(file, url, head, reply)

    async def _send(self, file: File, url: URL, head: Head, reply: Reply) -> None:
        secret = file.grant.credential.authorization if file.grant.credential else None
        own = file.grant.index.origin

        def authorization(hops: list[URL]) -> str | None:
            """Once a chain has left the index's origin, no redirect brings the credential back into play."""
            return secret if all(hop.origin == own for hop in hops) else None

        async with self._upstream.fetch(
            head.method,
            url,
            _passed_on(head),
            furthest=file.kind,
            judge=lambda hop: None,
            authorization=authorization,
        ) as answer:
            await send_body(answer, head, reply, self._meter)

    def _links(self, head: Head, answer: Answer, grant: PackagesGrant) -> Rewrite:
        """Each link is remembered under a name that tells nothing of where it leads."""
        host = head.headers["host"]

        def rewrite(linked: Linked) -> str:
            whole = f"{grant.ecosystem} {linked.filename} {linked.url}"
            key = hashlib.blake2b(whole.encode(), digest_size=16).hexdigest()
            if key not in self._files and len(self._files) >= self._meter.bounds.links:
                raise Refused(
                    "links", f"this box may know {self._meter.bounds.links} files; ask for fewer packages", status=429
                )
            self._files[key] = File(linked.url, linked.filename, bool(linked.metadata), answer.kind, grant)
            return f"http://{host}/files/{key}/{quote(linked.filename, safe='')}"

        return rewrite

    def _index(self, ecosystem: Ecosystem, head: Head) -> PackagesGrant:
        if ecosystem not in self._indexes:
            known = ", ".join(self._indexes) or "none"
            raise Refused("grant", f"no {ecosystem} index is granted to this box (granted: {known})", path=head.target)
        return self._indexes[ecosystem]


async def send_body(answer: Answer, head: Head, reply: Reply, meter: Meter) -> None:
    if answer.status not in (200, 206, 304, 404, 410, 416):
        raise failed(answer)
    if answer.length and head.method == "GET":
        meter.expect(answer.length, answer.url)
    told = {name: answer.headers[name] for name in TOLD if name in answer.headers}
    await reply.begin(answer.status, told, answer.length)
    async for piece in answer.body():
        await reply.write(piece)
    await reply.end()


async def _missing(status: int, name: str, reply: Reply) -> None:
    """Not a refusal: the index was asked and has no such project."""
    await reply.whole(status, {"content-type": "text/plain"}, f"the index has no package {name}\n".encode())


def _npm_page(found: re.Match[str]) -> str:
    return f"@{found[1]}%2f{found[2]}" if found[1] else found[2]


def _passed_on(head: Head) -> Mapping[str, str]:
    asked = ((name, head.headers.get(name, "")) for name in _ASKED)
    return {name: value for name, value in asked if any(form.fullmatch(value) for form in _ASKED[name])}


def _bad(answer: Answer, why: str) -> Refused:
    sentence = (
        f"the page that {answer.url.host} sent cannot be used: {why}; ask the operator to look at the index setting"
    )
    return Refused("page", sentence, host=answer.url.host, path=answer.url.path, status=502)


def failed(answer: Answer) -> Refused:
    unknown = answer.status in (401, 403, 407)
    what = "ask the operator to look at the index's credential" if unknown else "try again later"
    status = answer.status if answer.status in (429, 500, 502, 503, 504) else 502
    sentence = f"{answer.url.host} answered {answer.status}; {what}"
    return Refused("upstream", sentence, host=answer.url.host, path=answer.url.path, status=status)
