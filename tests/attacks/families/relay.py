"""What a box asks of its one way out: the inside of the network, methods, paths and hosts that were not granted, a way
for what was stolen, and more than its share."""

from __future__ import annotations

import json
import select
import time
from urllib.parse import unquote

from tests.attacks.relay import Knock, Way
from tests.egress.world import OTHER, PUBLIC
from tests.standins.index import SIMPLE_JSON, Behaviour, Host, Page, drip, endless, redirect, slow

DOCS, INDEX = "https://docs.example/", "https://index.example/simple/"
LOGIN = "https://buyer:hunter2@index.example/simple/"
OUTSIDE = {PUBLIC, OTHER}
CONNECTIONS = 4


def a_page(way: Way) -> None:
    assert b" 200 " in way.ask(DOCS)[:16]


def a_page_of_the_index(way: Way) -> None:
    assert b" 200 " in way.ask("/pypi/simple/alpha/")[:16]


def a_file_of_the_index(way: Way) -> None:
    assert b"FINE" in way.ask(way.file("alpha"))


def outside_alone(way: Way) -> None:
    inside = {place for place in way.dialled() if place[0] not in OUTSIDE}
    assert not inside, f"it dialled {inside}"


def inside(way: Way) -> None:
    for host in ("inside.example", "private.example", "metadata.example", "127.0.0.1", "[::1]", "169.254.169.254"):
        way.ask(f"https://{host}/")
    outside_alone(way)


def rebinding(way: Way) -> None:
    for _ in range(3):
        way.ask("https://rebound.example/")
    outside_alone(way)


def mixed(way: Way) -> None:
    way.ask("https://mixed.example/")
    outside_alone(way)


def led_inside(way: Way) -> None:
    way.ask(DOCS + "inside")
    outside_alone(way)


def led_to_another_port(way: Way) -> None:
    way.ask(DOCS + "port")
    assert (PUBLIC, 8443) not in way.dialled()


def unencrypted(way: Way) -> None:
    way.ask("http://docs.example/")
    assert (PUBLIC, 80) not in way.dialled()


def in_the_middle(way: Way) -> None:
    way.ask("https://middle.example/")
    assert way.world.host_of("middle.example").asked == []


def other_methods(way: Way) -> None:
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        way.ask(DOCS, method)
    assert {asked.method for asked in way.world.host_of("docs.example").asked} <= {"GET", "HEAD"}


def in_headers(way: Way) -> None:
    way.ask(DOCS, headers=["Cookie: stolen", "X-Data: stolen", "User-Agent: stolen", "Referer: stolen"])
    assert "stolen" not in str(way.world.host_of("docs.example").asked)


def beside_the_index(way: Way) -> None:
    for target in ("%2e%2e/private/", "../private/", "alpha/%2e%2e/%2e%2e/private/", "alpha%2f..%2f..%2fprivate/"):
        way.ask("/pypi/simple/" + target)
    way.ask("/pypi/simple/moved/")
    paths = [unquote(path) for path in way.world.host_of("index.example").paths()]
    assert not [path for path in paths if ".." in path or not path.startswith("/simple/")], paths


def the_web(way: Way) -> None:
    way.ask(DOCS)
    assert way.world.host_of("docs.example").asked == []


def login_elsewhere(way: Way) -> None:
    way.ask(way.file("gone"))
    assert [asked for asked in way.world.host_of("new.example").asked if "authorization" in asked.headers] == []


def endless_file(way: Way) -> None:
    assert len(way.ask(way.file("endless"))) < ENDLESS * 2


def dripping_file(way: Way) -> None:
    link, began = way.file("drip"), time.monotonic()
    way.ask(link, within=3)
    assert time.monotonic() - began < 2, "it is still being served"


def many_connections(way: Way) -> None:
    link = way.file("silent")
    lines = [way.connect() for _ in range(3 * CONNECTIONS)]
    for line in lines:
        line.sendall(f"GET {link} HTTP/1.1\r\nHost: {_host(link)}\r\n\r\n".encode())
    told: set[object] = set()
    while len(told) < 2 * CONNECTIONS:
        ready, _, _ = select.select([line for line in lines if line not in told], [], [], 1.0)
        if not ready:
            break
        told |= set(ready)
    asked = way.world.host_of("index.example").paths().count("/files/silent-1.0.tar.gz")
    for line in lines:
        line.close()
    assert asked <= CONNECTIONS, f"{asked} connections were served at once"


def _host(link: str) -> str:
    return link.split("/")[2] if "://" in link else "127.0.0.1"


ENDLESS = 1 << 20
PROJECTS: dict[str, Behaviour | None] = {
    "alpha": None,
    "gone": redirect("https://new.example/file"),
    "endless": endless,
    "drip": drip,
    "silent": slow,
}
"""Of the index: what comes in place of their files."""


def index_pages(index: Host) -> None:
    def page(path: str, asked: object) -> Page:
        name = path.split("/")[2]
        if not path.startswith("/simple/"):
            return Page(200, {"Content-Type": "application/octet-stream"}, b"FINE" * 1000)
        file = f"{name}-1.0.tar.gz"
        files = [{"filename": file, "url": f"https://index.example/files/{file}", "hashes": {}}]
        told = {"meta": {"api-version": "1.0"}, "name": name, "files": files}
        return Page(200, {"Content-Type": SIMPLE_JSON}, json.dumps(told).encode())

    index.pages = page
    index.behave("/simple/moved/", redirect("https://index.example/private/"))
    for name, behaviour in PROJECTS.items():
        if behaviour is not None:
            index.behave(f"/files/{name}-1.0.tar.gz", behaviour)


KNOCKS = (
    Knock(name="loopback, private nets and metadata, by name and by number", attack=inside, twin=a_page),
    Knock(name="a name that is bound to another address once it was judged", attack=rebinding, twin=a_page),
    Knock(name="a name of which one address is public and does not answer", attack=mixed, twin=a_page),
    Knock(name="a page that leads inside", attack=led_inside, twin=a_page),
    Knock(name="a page that leads to another port", attack=led_to_another_port, twin=a_page),
    Knock(name="http without TLS", attack=unencrypted, twin=a_page),
    Knock(name="a certificate for somebody else", attack=in_the_middle, twin=a_page),
    Knock(name="methods that change what is there", attack=other_methods, twin=a_page),
    Knock(name="what was stolen, in headers", attack=in_headers, twin=a_page),
    Knock(name="what lies beside the index", attack=beside_the_index, twin=a_page_of_the_index, web=False, index=INDEX),
    Knock(
        name="the web, where the index alone was granted",
        attack=the_web,
        twin=a_page_of_the_index,
        web=False,
        index=INDEX,
    ),
    Knock(
        name="the login of the index, at the host that a file has moved to",
        attack=login_elsewhere,
        twin=a_file_of_the_index,
        web=False,
        index=LOGIN,
    ),
    Knock(
        name="a file without end",
        attack=endless_file,
        twin=a_file_of_the_index,
        web=False,
        index=INDEX,
        bounds={"bytes": ENDLESS},
    ),
    Knock(
        name="a file that drips",
        attack=dripping_file,
        twin=a_file_of_the_index,
        web=False,
        index=INDEX,
        bounds={"reply_seconds": 0.5},
    ),
    Knock(
        name="more connections than it may hold",
        attack=many_connections,
        twin=a_file_of_the_index,
        web=False,
        index=INDEX,
        bounds={"connections": CONNECTIONS},
    ),
)
