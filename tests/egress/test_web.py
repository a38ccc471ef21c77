"""The web through the relay: one page at a time, over TLS, from public addresses alone."""

from __future__ import annotations

import pytest

from drydock.egress.grants import Bounds, FileGrant, PackagesGrant, WebGrant
from tests.egress.door import Door, everything, request
from tests.egress.world import OTHER, PUBLIC, World
from tests.standins.index import Page, endless, instead, redirect, slow, status


def ask(door: Door, url: str, host: str | None = None, method: str = "GET") -> bytes:
    return door.say(request(url, host or url.split("/")[2], method))


def test_a_page_comes_through_by_its_name_and_its_checked_address(world: World) -> None:
    site = world.host("docs.example")
    with Door(WebGrant(), **world.parts) as door:
        reply = ask(door, "https://docs.example/a/b?c=d")
    assert reply.startswith(b"HTTP/1.1 200 OK\r\n")
    assert reply.endswith(b"docs.example/a/b\n")
    assert world.dialled == [(PUBLIC, 443)]
    assert site.asked[0].headers["host"] == "docs.example"
    assert site.paths() == ["/a/b?c=d"]
    assert door.denied == []


def test_a_head_request_gets_no_body(world: World) -> None:
    site = world.host("docs.example")
    with Door(WebGrant(), **world.parts) as door:
        reply = ask(door, "https://docs.example/", method="HEAD")
    assert reply.endswith(b"\r\n\r\n")
    assert site.asked[0].method == "HEAD"


def test_nothing_of_the_programs_headers_goes_out_and_no_cookie_comes_in(world: World) -> None:
    site = world.host("docs.example")
    page = Page(200, {"Set-Cookie": "a=b", "X-Secret": "c", "Content-Type": "text/plain"}, b"hello")
    site.pages = lambda path, asked: page
    with Door(WebGrant(), **world.parts) as door:
        carried = ["Cookie: stolen", "X-Data: stolen", "Authorization: stolen", "Referer: stolen", "User-Agent: stolen"]
        reply = door.say(request("https://docs.example/", "docs.example", headers=carried))
    assert "stolen" not in str(site.asked)
    assert b"hello" in reply
    assert b"a=b" not in reply
    assert b"secret" not in reply.lower()


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("http://docs.example/", "scheme"),
        ("https://docs.example:8443/", "port"),
        ("https://docs.example:80/", "port"),
        ("ftp://docs.example/", "spelling"),
    ],
)
def test_only_https_on_its_own_port_is_granted(world: World, url: str, kind: str) -> None:
    world.host("docs.example")
    with Door(WebGrant(), **world.parts) as door:
        assert b" 200 " not in ask(door, url)
        assert door.denied == [kind]
    assert world.dialled == []


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT"])
def test_other_methods_are_refused_and_told_what_to_do(world: World, method: str) -> None:
    site = world.host("docs.example")
    with Door(WebGrant(), **world.parts) as door:
        target = "docs.example:443" if method == "CONNECT" else "https://docs.example/"
        reply = ask(door, target, "docs.example", method)
        assert door.denied == ["method"]
    assert b"GET" in reply
    assert reply.startswith(b"HTTP/1.1 405 ")
    assert site.asked == []


def test_a_certificate_for_another_name_is_refused(world: World) -> None:
    world.host("docs.example", certified="other.example")
    with Door(WebGrant(), **world.parts) as door:
        assert b"certificate" in ask(door, "https://docs.example/")
        assert door.denied == ["upstream"]


def test_the_web_is_not_granted_to_a_box_that_has_packages_alone(world: World) -> None:
    world.host("docs.example")
    with Door(PackagesGrant.of("pypi", "https://docs.example/simple"), **world.parts) as door:
        ask(door, "https://docs.example/")
        assert door.denied == ["grant"]
    assert world.looked_up == []


def test_a_redirect_is_followed_to_another_public_host(world: World) -> None:
    world.host("docs.example").behave("/old", redirect("https://new.example/page"))
    world.host("new.example", at=OTHER)
    with Door(WebGrant(), **world.parts) as door:
        assert ask(door, "https://docs.example/old").endswith(b"new.example/page\n")
    assert world.dialled == [(PUBLIC, 443), (OTHER, 443)]


@pytest.mark.parametrize(
    ("to", "kind"),
    [
        ("http://docs.example/", "scheme"),
        ("https://docs.example:22/", "port"),
        ("https://127.0.0.1/", "address"),
        ("https://[::1]/", "address"),
        ("https://inside.example/", "address"),
        ("https://169.254.169.254/latest/meta-data", "address"),
        ("https://user@docs.example/", "redirect"),
        ("https://docs.example\\@inside.example/", "redirect"),
        ("//inside.example/", "address"),
        ("gopher://docs.example/", "redirect"),
        ("", "redirect"),
        ("/again", "redirect"),
    ],
)
def test_each_hop_of_a_redirect_is_judged(world: World, to: str, kind: str) -> None:
    site = world.host("docs.example")
    site.behave("/old", redirect(to))
    site.behave("/again", redirect("/again"))
    world.names["inside.example"] = ["10.0.0.1"]
    with Door(WebGrant(), **world.parts) as door:
        assert b" 200 " not in ask(door, "https://docs.example/old")
        assert door.denied == [kind] if to != "http://docs.example/" else ["redirect"]
    assert {address for address, _ in world.dialled} == {PUBLIC}


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "127.8.8.8",
        "0.0.0.0",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "100.64.0.1",
        "100.100.100.200",
        "169.254.169.254",
        "168.63.129.16",
        "192.0.0.192",
        "192.0.2.1",
        "198.18.0.1",
        "224.0.0.1",
        "239.255.255.250",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::127.0.0.1",
        "::ffff:10.0.0.1",
        "::ffff:93.184.215.14",
        "64:ff9b::7f00:1",
        "64:ff9b:1::1",
        "100::1",
        "2001::1",
        "2001:db8::1",
        "2002:7f00:1::1",
        "fc00::1",
        "fd00:ec2::254",
        "fd20:ce::254",
        "fe80::1",
        "fe80::1%eth0",
        "fec0::1",
        "ff02::1",
        "4000::1",
    ],
)
def test_a_name_with_an_address_that_is_not_public_is_not_dialled(world: World, address: str) -> None:
    world.names["rebound.example"] = [address]
    world.names["mixed.example"] = [PUBLIC, address]
    world.names["mixed6.example"] = ["2606:2800:21f:cb07:6820:80da:af6b:8b2c", address]
    with Door(WebGrant(), **world.parts) as door:
        for name in ("rebound", "mixed", "mixed6"):
            assert b"has an address of the kind" in ask(door, f"https://{name}.example/")
        assert door.denied == ["address"] * 3
    assert world.dialled == []


def test_a_name_is_resolved_once_and_rebinding_finds_no_second_look(world: World) -> None:
    world.host("docs.example")
    world.names["docs.example"] = [[PUBLIC], ["127.0.0.1"]]
    with Door(WebGrant(), **world.parts) as door:
        assert b" 200 " in ask(door, "https://docs.example/")
        assert world.looked_up == ["docs.example"]
        assert b"loopback" in ask(door, "https://docs.example/")
    assert world.dialled == [(PUBLIC, 443)]


@pytest.mark.parametrize("behaviour", [endless, instead(b"x" * 3000), instead(b"x" * 3000, Content_Length="999999999")])
def test_a_reply_that_is_too_large_is_cut_and_never_passes_for_a_whole_one(world: World, behaviour: object) -> None:
    world.host("docs.example").behave("/", behaviour)  # type: ignore[arg-type]
    with Door(WebGrant(), bounds=Bounds(web_bytes=2000), **world.parts) as door:
        reply = ask(door, "https://docs.example/")
        assert door.denied == ["size"]
    assert b"x" * 2000 not in reply
    assert not reply.endswith(b"0\r\n\r\n")


def test_a_silent_host_is_left_after_the_web_seconds(world: World) -> None:
    world.host("docs.example").behave("/", slow)
    with Door(WebGrant(), bounds=Bounds(web_seconds=0.3), **world.parts) as door:
        assert b"504" in ask(door, "https://docs.example/")
        assert door.denied == ["slow"]


def test_what_a_site_says_of_itself_is_passed_on(world: World) -> None:
    world.host("docs.example").behave("/", status(403))
    with Door(WebGrant(), **world.parts) as door:
        assert ask(door, "https://docs.example/").startswith(b"HTTP/1.1 403 ")
        assert door.denied == []


def test_a_large_page_comes_whole_to_a_program_that_reads_slowly(world: World) -> None:
    """More than all buffers on the way hold, so that the relay has to stop reading from the other side."""
    site = world.host("docs.example")
    body = bytes(4 << 20)
    site.pages = lambda path, asked: Page(200, {"Content-Type": "text/plain"}, body)
    with Door(WebGrant(), **world.parts) as door:
        for _ in range(10):
            with door.connect() as line:
                line.sendall(request("https://docs.example/", "docs.example"))
                head = line.recv(1024)
                assert len(head + everything(line)) > len(body)
    assert door.denied == []


def test_one_granted_file_comes_through_and_nothing_beside_it(world: World) -> None:
    site = world.host("docs.example")
    grant = FileGrant.of("https://docs.example/a/b-1.0.whl")
    with Door(grant, **world.parts) as door:
        assert door.get(grant.path).text == "docs.example/a/b-1.0.whl\n"
        assert door.get(grant.path + "x").status_code == 403
        assert door.get(grant.path + ".metadata").status_code == 403
        assert door.get("/pypi/simple/x/").status_code == 403
    assert site.paths() == ["/a/b-1.0.whl"]
    assert "authorization" not in site.asked[0].headers
