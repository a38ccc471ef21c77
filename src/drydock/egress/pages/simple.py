"""PyPI's pages: HTML or JSON in, one form in between, HTML or JSON out."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any

from drydock.egress.pages.anchors import anchors
from drydock.egress.pages.bad_page import MARKS, BadPage
from drydock.egress.url import URL, BadURL, join

JSON_TYPE = "application/vnd.pypi.simple.v1+json"
HTML_TYPES = ("text/html", "application/vnd.pypi.simple.v1+html", "application/vnd.pypi.simple.latest+html")
_FILENAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+!-]{0,254}", re.ASCII)
_HASH = re.compile(r"(sha224|sha256|sha384|sha512|sha3_\d+|blake2b|md5|sha1)=([0-9a-fA-F]{32,128})", re.ASCII)
_VERSION = re.compile(r"[0-9A-Za-z.!+_-]{1,64}", re.ASCII)
_TIME = re.compile(r"[0-9T:.Z+-]{10,40}", re.ASCII)
TEXT = 512
LINKS = 100_000


@dataclass(frozen=True, slots=True)
class Linked:
    """A file that a page links to."""

    filename: str
    url: URL
    hashes: Mapping[str, str]
    requires_python: str | None = None
    yanked: str | bool = False
    metadata: Mapping[str, str] | bool = False
    """Whether a `.metadata` file stands beside it (PEP 658), and its hashes if they are told."""
    size: int | None = None
    uploaded: str | None = None


@dataclass(frozen=True)
class Simple:
    """The page of one project."""

    name: str
    files: list[Linked]
    versions: list[str]


Rewrite = Callable[[Linked], str]
"""The link by which the box asks for a file."""


def parse_simple(kind: str, body: bytes, at: URL, name: str) -> Simple:
    """`kind` is the Content-Type, `at` where the page came from. BadPage if it is no such page."""
    form = kind.partition(";")[0].strip().lower()
    if form == JSON_TYPE or form == "application/json":
        return _from_json(body, at, name)
    if form in HTML_TYPES:
        return _from_html(body, at, name)
    raise BadPage("it is neither HTML nor the JSON of a package index")


def _from_json(body: bytes, at: URL, name: str) -> Simple:
    page = read_json(body)
    files = page.get("files")
    if not isinstance(files, list):
        raise BadPage("its JSON has no list of files")
    versions = page.get("versions")
    listed = [one for one in versions if _is(one, _VERSION)] if isinstance(versions, list) else []
    found = (_linked_json(entry, at) for entry in files if isinstance(entry, dict))
    return Simple(name, _bounded(found), listed)


def _linked_json(entry: dict[str, Any], at: URL) -> Linked | None:
    filename, hashes, size = entry.get("filename"), entry.get("hashes"), entry.get("size")
    metadata = entry.get("core-metadata", entry.get("dist-info-metadata", False))
    yanked = entry.get("yanked", False)
    return _linked(
        filename,
        entry.get("url"),
        at,
        hashes=_hashes(hashes),
        requires_python=_text(entry.get("requires-python")),
        yanked=(_text(yanked) or True) if isinstance(yanked, str) else yanked is True,
        metadata=(_hashes(metadata) or True) if isinstance(metadata, dict) else metadata is True,
        size=size if isinstance(size, int) and not isinstance(size, bool) and 0 <= size < 1 << 48 else None,
        uploaded=_moment(entry.get("upload-time")),
    )


def _from_html(body: bytes, at: URL, name: str) -> Simple:
    return Simple(name, _bounded(_html_links(body, at)), [])


def _bounded(found: Iterable[Linked | None]) -> list[Linked]:
    files = list(islice((one for one in found if one), LINKS + 1))
    if len(files) > LINKS:
        raise BadPage(f"it links to over {LINKS} files")
    return files


def _html_links(body: bytes, at: URL) -> Iterator[Linked | None]:
    base: URL | None = None
    for tag, given, text in anchors(body.decode("utf-8", "replace")):
        if tag == "base" and base is None and "href" in given:
            try:
                base, _ = join(at, given["href"])
            except BadURL:
                raise BadPage("the <base> of its links is no usable URL") from None
            if at.scheme == "https" and base.scheme != "https":
                raise BadPage("the <base> of its links leads from https to http")
        elif tag == "a":
            yield _linked_html(given, text, base or at)


def _linked_html(given: dict[str, str], text: str, at: URL) -> Linked | None:
    href, _, fragment = given.get("href", "").strip().partition("#")
    metadata = given.get("data-core-metadata", given.get("data-dist-info-metadata"))
    told = _HASH.fullmatch(metadata or "")
    return _linked(
        text,
        href,
        at,
        hashes={found[1]: found[2].lower() for part in fragment.split("&") if (found := _HASH.fullmatch(part))},
        requires_python=_text(given.get("data-requires-python")),
        yanked=(_text(given["data-yanked"]) or True) if "data-yanked" in given else False,
        metadata={told[1]: told[2].lower()} if told else metadata is not None and metadata.lower() != "false",
    )


def _linked(filename: Any, link: Any, at: URL, **more: Any) -> Linked | None:
    """None for a link that nobody can be given: another scheme, another spelling, from https to http."""
    if not _is(filename, _FILENAME) or not isinstance(link, str) or not link:
        return None
    try:
        url, _ = join(at, link)
    except BadURL:
        return None
    if at.scheme == "https" and url.scheme != "https":
        return None
    if url.query:
        more["metadata"] = False  # where it would lie is not defined
    return Linked(filename, url, **more)


def write_json(page: Simple, rewrite: Rewrite) -> bytes:
    files = []
    for file in page.files:
        entry: dict[str, object] = {"filename": file.filename, "url": rewrite(file), "hashes": dict(file.hashes)}
        entry["yanked"] = file.yanked
        if file.metadata:
            entry["core-metadata"] = entry["dist-info-metadata"] = file.metadata
        optional = {"requires-python": file.requires_python, "size": file.size, "upload-time": file.uploaded}
        files.append(entry | {name: value for name, value in optional.items() if value is not None})
    whole: dict[str, object] = {"meta": {"api-version": "1.0"}, "name": page.name, "files": files}
    return json.dumps(whole | ({"versions": page.versions} if page.versions else {})).encode()


def write_html(page: Simple, rewrite: Rewrite) -> bytes:
    lines = ["<!DOCTYPE html><html><head>", '<meta name="pypi:repository-version" content="1.0">']
    lines.append(f"<title>{html.escape(page.name)}</title></head><body>")
    for file in page.files:
        digest = next((f"#{name}={value}" for name, value in _strongest(file.hashes)), "")
        told = {"href": rewrite(file) + digest}
        if file.requires_python is not None:
            told["data-requires-python"] = file.requires_python
        if file.yanked is not False:
            told["data-yanked"] = file.yanked if isinstance(file.yanked, str) else ""
        if file.metadata:
            hashes = _strongest(file.metadata) if isinstance(file.metadata, Mapping) else []
            told["data-core-metadata"] = next((f"{name}={value}" for name, value in hashes), "true")
            told["data-dist-info-metadata"] = told["data-core-metadata"]
        attributes = " ".join(f'{name}="{html.escape(value)}"' for name, value in told.items())
        lines.append(f"<a {attributes}>{html.escape(file.filename)}</a><br>")
    return "\n".join([*lines, "</body></html>", ""]).encode()


def read_json(body: bytes) -> dict[str, Any]:
    """BadPage unless it is an object; a bomb of brackets or digits is none."""
    if sum(body.count(mark) for mark in (b",", b"[", b"{")) > MARKS:
        raise BadPage(f"its JSON has over {MARKS} values")
    try:
        page = json.loads(body)
    except (ValueError, RecursionError):
        raise BadPage("its JSON cannot be read") from None
    if not isinstance(page, dict):
        raise BadPage("its JSON is no object")
    return page


def _strongest(hashes: Mapping[str, str]) -> list[tuple[str, str]]:
    """A page in HTML has room for one hash; the specification recommends sha256."""
    return sorted(hashes.items(), key=lambda one: (one[0] != "sha256", one[0] in ("md5", "sha1"), one[0]))


def _hashes(given: Any) -> dict[str, str]:
    if not isinstance(given, dict):
        return {}
    found = (_HASH.fullmatch(f"{name}={value}") for name, value in given.items())
    return {one[1]: one[2].lower() for one in found if one}


def _text(given: Any) -> str | None:
    return given if isinstance(given, str) and len(given) <= TEXT and given.isprintable() else None


def _moment(given: Any) -> str | None:
    """None for a day that no calendar has: installers refuse the whole page for one."""
    try:
        return given if _is(given, _TIME) and datetime.fromisoformat(given) else None
    except ValueError:
        return None


def _is(given: Any, form: re.Pattern[str]) -> bool:
    return isinstance(given, str) and form.fullmatch(given) is not None
