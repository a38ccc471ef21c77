"""How others read a URL: browsers (node's URL is theirs), the libraries of Python, the resolver of the C library."""

from __future__ import annotations

import json
import socket
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

import httpx

BROWSER = """
const lines = require("readline").createInterface({ input: process.stdin });
lines.on("line", (line) => {
  const [text, base] = JSON.parse(line);
  try {
    const url = base ? new URL(text, base) : new URL(text);
    console.log(JSON.stringify([url.protocol, url.hostname, url.port]));
  } catch { console.log("null"); }
});
"""
PORTS = {"https": 443, "http": 80}


@dataclass(frozen=True)
class Place:
    scheme: str
    host: str
    port: int | None


def browser(texts: Sequence[str], base: str = "") -> list[Place | None]:
    """None for what a browser refuses."""
    lines = "".join(json.dumps([text, base]) + "\n" for text in texts)
    told = subprocess.run(["node", "-e", BROWSER], input=lines, capture_output=True, text=True, check=True, timeout=300)
    return [_place(*read) if (read := json.loads(line)) else None for line in told.stdout.splitlines()]


def _place(protocol: str, hostname: str, port: str) -> Place:
    scheme = protocol.removesuffix(":")
    return Place(scheme, canonical(hostname), int(port) if port else PORTS.get(scheme))


def python(text: str) -> list[Place]:
    """What the two libraries make of it, those that take it."""
    places = []
    try:
        split = urlsplit(text)
        places.append(Place(split.scheme, canonical(split.hostname or ""), split.port or PORTS.get(split.scheme)))
    except ValueError:
        pass
    try:
        url = httpx.URL(text)
        places.append(Place(url.scheme, canonical(url.raw_host.decode()), url.port or PORTS.get(url.scheme)))
    except httpx.InvalidURL:
        pass
    return places


def numeric(host: str) -> str | None:
    """The address that the C library takes this host for without asking anybody; None if it is a name."""
    try:
        found = socket.getaddrinfo(host, 443, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except (OSError, UnicodeError, ValueError):
        return None
    return canonical(str(found[0][4][0]))


def canonical(host: str) -> str:
    bare = host.removeprefix("[").removesuffix("]")
    try:
        return str(ip_address(bare))
    except ValueError:
        return bare
