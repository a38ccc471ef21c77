"""Index pages as an attacker writes them: links that lead elsewhere, and bombs."""

from __future__ import annotations

import json
import random
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import suppress

import pytest

from drydock.egress.grants import Credential, PackagesGrant
from drydock.egress.pages.bad_page import MARKS, BadPage
from drydock.egress.pages.npm import rewrite_packument
from drydock.egress.pages.simple import JSON_TYPE, LINKS, parse_simple, write_html, write_json
from drydock.egress.url import URL, parse
from tests.egress.door import Door
from tests.egress.raw import Raw, answer
from tests.egress.world import OTHER, PUBLIC, World
from tests.standins.index import Behaviour, Page, redirect

AT = parse("https://index.example/simple/alpha/")
NAME = "alpha-1.0.tar.gz"
MIB = 1 << 20


def page_with(url: str) -> Behaviour:
    """An index page with one link."""
    body = json.dumps({"files": [{"filename": NAME, "url": url, "hashes": {}}]}).encode()
    return lambda exchange, _: exchange.send(Page(200, {"Content-Type": JSON_TYPE}, body))


def first_link(door: Door) -> str:
    url: str = door.get("/pypi/simple/alpha/", headers={"Accept": JSON_TYPE}).json()["files"][0]["url"]
    return url.removeprefix(door.url)


def linked(page: str, at: URL = AT) -> list[str]:
    return [str(file.url) for file in parse_simple("text/html", page.encode(), at, "alpha").files]


@pytest.mark.parametrize(
    ("href", "to"),
    [
        ("https://files.example/a", "https://files.example/a"),
        ("//files.example/a", "https://files.example/a"),
        ("/a", "https://index.example/a"),
        ("a", "https://index.example/simple/alpha/a"),
        ("../a#sha256=0", "https://index.example/simple/a"),
        ("a?b=c&amp;d=e", "https://index.example/simple/alpha/a?b=c&d=e"),
        ("&#104;ttps://files.example/a", "https://files.example/a"),
        ("&#x2f;&#47;files.example/a", "https://files.example/a"),
        ("  a  ", "https://index.example/simple/alpha/a"),
        ("a%20b", "https://index.example/simple/alpha/a%20b"),
    ],
)
def test_a_link_in_any_dress_is_read_as_an_installer_reads_it(href: str, to: str) -> None:
    assert linked(f'<a href="{href}">{NAME}</a>') == [to]
    assert linked(f"<A data-x=1 HREF = '{href}' href='/second'>{NAME}</A>") == [to]


@pytest.mark.parametrize(
    "href",
    [
        "",
        "http://files.example/a",
        "HTTP://files.example/a",
        "ftp://files.example/a",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "https:a",
        "https:/files.example/a",
        "https:///files.example/a",
        "///files.example/a",
        "////files.example/a",
        "/\\files.example/a",
        "\\\\files.example\\a",
        "//user:pass@files.example/a",
        "//files.example:0/a",
        "//files.example:443:1/a",
        "//files.example./a",
        "//[files.example/a",
        "//[::1/a",
        "//[v1.x]/a",
        "//[fe80::1%25lo]/a",
        "//0x7f.1/a",
        "//2130706433/a",
        "//0177.0.0.1/a",
        "//127.1/a",
        "//f&#105;les.example&#9;/a",
        "//files.example&#10;/a",
        "//files.example&NewLine;/a",
        "//files&#0;.example/a",
        "//files&period;example&bsol;@x/a",
        "//b\u00fccher.example/a",
        "//files\u3002example/a",
        "//%66iles.example/a",
        "/a b",
        "/%00",
        "/%2e%2e/a",
        "/" + "a" * 5000,
    ],
)
def test_a_link_that_can_be_read_in_two_ways_is_left_out(href: str) -> None:
    assert linked(f'<a href="{href}">{NAME}</a>') == []


@pytest.mark.parametrize("base", ["http://files.example/", "//[", "file:///", "https://user@files.example/"])
def test_a_base_that_no_link_may_have_makes_the_page_none(base: str) -> None:
    with pytest.raises(BadPage):
        linked(f'<base href="{base}"><a href="a">{NAME}</a>')


def test_a_second_base_and_links_in_comments_count_for_nothing() -> None:
    page = '<base href="/x/"><base href="https://evil.example/"><!-- <a href="/c">c-1.0.tar.gz</a> --><a href="a">'
    assert linked(page + NAME) == ["https://index.example/x/a"]


def test_a_file_name_that_is_a_path_or_markup_is_left_out() -> None:
    for name in (
        "../x.whl",
        "/etc/x.whl",
        "a/b.whl",
        "a\\b.whl",
        '"><script>',
        "a\nb.whl",
        "",
        ".hidden",
        "-r",
        "x" * 300,
    ):
        assert linked(f'<a href="/a">{name}</a>') == []
        page = json.dumps({"files": [{"filename": name, "url": "/a", "hashes": {}}]}).encode()
        assert parse_simple(JSON_TYPE, page, AT, "alpha").files == []


def test_what_an_uploader_writes_does_not_break_out_of_its_attribute() -> None:
    evil = '"><a href="https://evil.example/">x-1.0.whl</a>'
    entry = {"filename": NAME, "url": "/a", "hashes": {"sha256": evil}, "yanked": evil, "requires-python": evil}
    page = parse_simple(JSON_TYPE, json.dumps({"files": [entry]}).encode(), AT, "alpha")
    written = write_html(page, lambda file: "http://127.0.0.1/files/x").decode()
    assert linked(written, parse("http://127.0.0.1/")) == ["http://127.0.0.1/files/x"]


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        ("2024-02-29T12:00:00.123456Z", True),
        ("2024-02-29T12:00:00+00:00", True),
        ("9999-99-99", False),
        ("2023-02-29T12:00:00Z", False),
        ("T" * 30, False),
        (5, False),
    ],
)
def test_a_moment_that_no_calendar_has_does_not_cost_the_page(told: object, kept: bool) -> None:
    """uv refuses a page for one."""
    entry = {"filename": NAME, "url": "/a", "hashes": {}, "upload-time": told}
    [file] = parse_simple(JSON_TYPE, json.dumps({"files": [entry]}).encode(), AT, "alpha").files
    assert file.uploaded == (told if kept else None)


BOMBS = {
    "brackets": b'{"files":' + b"[" * 1_000_000,
    "objects": b'{"files":' + b'{"a":' * 500_000,
    "empty lists": b'{"files":[' + b"[]," * 8_000_000 + b"0]}",
    "digits": b'{"files":[' + b"9" * (20 * MIB) + b"]}",
    "a list": b"[" + b"0," * MIB + b"0]",
    "keys": b"{" + b",".join(b'"%d":0' % number for number in range(MARKS + 1)) + b"}",
    "no JSON": b"\xff\xfe" * MIB,
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_in_json_is_no_page(bomb: str) -> None:
    began = time.monotonic()
    for read in (
        lambda: parse_simple(JSON_TYPE, BOMBS[bomb], AT, "alpha"),
        lambda: rewrite_packument(BOMBS[bomb], AT, lambda file: "x"),
    ):
        with pytest.raises(BadPage):
            read()
    assert time.monotonic() - began < 10


HTML_BOMBS = {
    "tags": b"<a " * (8 * MIB),
    "open quotes": b"<a href='" * (2 * MIB),
    "attributes": b"<a " + b"b " * (12 * MIB),
    "links": f'<a href="/a">{NAME}</a>'.encode() * (LINKS + 1),
}


@pytest.mark.parametrize("bomb", HTML_BOMBS)
def test_a_bomb_in_html_is_no_page(bomb: str) -> None:
    began = time.monotonic()
    with pytest.raises(BadPage):
        parse_simple("text/html", HTML_BOMBS[bomb], AT, "alpha")
    assert time.monotonic() - began < 20


@pytest.mark.parametrize(
    "page", [b"<" * (24 * MIB), b"<!--" * (6 * MIB), b'<a href="' + b"&amp;" * (4 * MIB), b"<a " + b" " * (24 * MIB)]
)
def test_a_page_of_nothing_takes_little_time_and_memory(page: bytes) -> None:
    tracemalloc.start()
    try:
        assert parse_simple("text/html", page, AT, "alpha").files == []
        assert tracemalloc.get_traced_memory()[1] < 4 * len(page)
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("coding", ["gzip", "br", "identity, gzip", "x"])
def test_a_page_that_comes_compressed_unasked_is_no_page(coding: str) -> None:
    with Raw() as raw, Door(PackagesGrant.of("pypi", raw.index)) as door:
        raw.says["/simple/alpha/"] = answer(b"\x1f\x8b\x08", "Content-Type: text/html", f"Content-Encoding: {coding}")
        assert "compressed" in door.get("/pypi/simple/alpha/").text
        assert b"Accept-Encoding: identity\r\n" in raw.asked[0]
        assert door.denied == ["page"]


@pytest.mark.parametrize(
    "to", ["https://other.example/simple/alpha/", "/other/alpha/", "/simple/../admin", "/simple//x"]
)
def test_a_page_redirects_within_the_index_alone_and_keeps_its_credential(world: World, to: str) -> None:
    site = world.host("index.example")
    other = world.host("other.example", at=OTHER)
    site.behave("/simple/alpha/", redirect(to))
    grant = PackagesGrant.of("pypi", "https://index.example/simple/", Credential.bearer("s3cret"))
    with Door(grant, **world.parts) as door:
        assert "redirected" in door.get("/pypi/simple/alpha/").text
        assert door.denied == ["redirect"]
    assert other.asked == []


@pytest.mark.parametrize("back", [False, True])
def test_a_redirect_takes_no_credential_along_and_brings_none_back(world: World, back: bool) -> None:
    site, other = world.host("index.example"), world.host("other.example", at=OTHER)
    site.behave("/f/alpha", redirect("https://other.example/f"))
    if back:
        other.behave("/f", redirect("https://index.example/private"))
    site.behave("/simple/alpha/", page_with("/f/alpha"))
    grant = PackagesGrant.of("pypi", "https://index.example/simple/", Credential.bearer("s3cret"))
    with Door(grant, **world.parts) as door:
        door.get(first_link(door))
    assert [asked.headers.get("authorization") for asked in other.asked] == [None]
    carried = [(asked.target, "authorization" in asked.headers) for asked in site.asked]
    assert carried == [("/simple/alpha/", True), ("/f/alpha", True), ("/private", False)][: 3 if back else 2]


@pytest.mark.parametrize(
    "to", ["http://169.254.169.254/latest/", "http://10.0.0.1/", "http://127.0.0.1:22/", "//inside.example/"]
)
@pytest.mark.parametrize("how", ["link", "redirect"])
def test_a_public_index_leads_to_public_addresses_alone(world: World, to: str, how: str) -> None:
    site = world.host("index.example", port=80)
    world.names["inside.example"] = ["192.168.1.1"]
    url = to if how == "link" else "/f/alpha"
    site.behave("/f/alpha", redirect(to))
    site.behave("/simple/alpha/", page_with(url))
    with Door(PackagesGrant.of("pypi", "http://index.example/simple/"), **world.parts) as door:
        assert "has an address of the kind" in door.get(first_link(door)).text
        assert door.denied == ["address"]
    assert {address for address, _ in world.dialled} == {PUBLIC}


MARKUP = '<a href=" <a </a> > < " \' = <!-- --> <base href= &amp; &# &#x10ffff; &#xd800; data-yanked data-core-metadata'
LINKED = "http:// // / \\ @ : [ ] %00 .. #sha256= \0 \ud7ff \u3002"
VALUES = '"files" "url" "yanked" { } [ ] , null 1e999 -1 NaN "\\ud800" "versions" "dist"'
PIECES = (*MARKUP.split(" "), *LINKED.split(" "), *VALUES.split(" "), "\t", "\n", " " * 99, "9" * 5000, "a" * 5000)
HASH = "0" * 64
ANCHOR = f'<a href="/a#sha256={HASH}" data-yanked="" data-core-metadata="true">{NAME}</a>'
RELEASE = {"dist": {"tarball": "/a.tgz", "shasum": "x"}, "bin": {}}
HONEST = (
    f'<html><head><base href="/x/"></head>{ANCHOR}',
    json.dumps({"files": [{"filename": NAME, "url": "/a", "hashes": {"sha256": HASH}, "yanked": "x", "size": 1}]}),
    json.dumps({"versions": {"1.0.0": RELEASE}, "dist-tags": {"latest": "1.0.0"}}),
)


def pages(seed: int, count: int) -> Iterator[bytes]:
    choose = random.Random(seed)
    for _ in range(count):
        page = choose.choice(HONEST)
        for _ in range(choose.choice((1, 1, 2, 5))):
            at = choose.randint(0, len(page))
            page = page[:at] + choose.choice(("", choose.choice(PIECES))) + page[at + choose.choice((0, 0, 1, 6)) :]
        yield page.encode("utf-8", "surrogatepass")


@pytest.mark.parametrize(
    ("seed", "count"),
    [
        pytest.param(5, 5_000, id="a slice"),
        pytest.param(6, 200_000, id="many", marks=[pytest.mark.long, pytest.mark.timeout(1800)]),
    ],
)
def test_no_mutation_of_a_page_is_anything_but_a_page_or_none(seed: int, count: int) -> None:
    ours = "http://127.0.0.1/files/0/x"
    read = 0
    for body in pages(seed, count):
        for kind in ("text/html", JSON_TYPE):
            try:
                page = parse_simple(kind, body, AT, "alpha")
            except BadPage:
                continue
            read += 1
            again = parse_simple(JSON_TYPE, write_json(page, lambda file: ours), AT, "alpha")
            assert [file.filename for file in again.files] in ([file.filename for file in page.files], [])
            shown = parse_simple("text/html", write_html(page, lambda file: ours), parse(ours), "alpha")
            assert [str(file.url) for file in shown.files] == [ours] * len(page.files)
        with suppress(BadPage):
            rewrite_packument(body, AT, lambda file: ours)
    assert read > count / 2
