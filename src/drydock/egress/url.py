"""One spelling of a URL. What two programs could read as two hosts is refused, not mended."""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from urllib.parse import urljoin

LONGEST = 4096
PORTS = {"http": 80, "https": 443}

_PCHAR = r"[A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2}"
_WHOLE = re.compile(
    r"(?P<scheme>[A-Za-z]+)://(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+)(?::(?P<port>[1-9][0-9]{0,4}))?"
    rf"(?P<path>(?:/(?:{_PCHAR})*)?)(?P<query>(?:\?(?:{_PCHAR}|\?)*)?)",
    re.ASCII,
)
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*", re.ASCII)
_NUMERIC = re.compile(r"[0-9]+|0x[0-9a-f]*", re.ASCII)
"""A last label that makes resolvers and browsers read the whole name as an IPv4 address, in bases 8, 10 and 16."""
_AMBIGUOUS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?!//[^/])|//(?![^/])", re.ASCII)
"""`https:page` and `///page` name another host to a browser than to the specification."""
_DOTS = re.compile(r"(?:\.|%2e){1,2}", re.IGNORECASE)


class BadURL(ValueError):
    """A sentence about what is wrong with the spelling."""


@dataclass(frozen=True, slots=True)
class URL:
    scheme: str
    host: str
    """A DNS name in lower case, or an address in its canonical form without brackets."""
    port: int
    path: str
    query: str = ""
    """With its question mark, or empty."""

    @property
    def origin(self) -> tuple[str, str, int]:
        return self.scheme, self.host, self.port

    @property
    def authority(self) -> str:
        """What stands in a Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def target(self) -> str:
        return self.path + self.query

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.target}"

    def below(self, folder: URL) -> bool:
        """The same origin and a path under `folder`'s, however a server reads paths."""
        return self.origin == folder.origin and self.path.startswith(folder.path) and plain(self.path)


def parse(text: str) -> URL:
    """BadURL for anything but scheme, host, port, path and query, spelled in one way."""
    if len(text) > LONGEST:
        raise BadURL(f"a URL may be {LONGEST} characters long")
    found = _WHOLE.fullmatch(text)
    if found is None:
        raise BadURL(
            "a URL is http(s)://host[:port]/path[?query] in ASCII, without user, fragment, backslash, space or control "
            "character; write an international name in its xn-- form and other characters as %XX"
        )
    scheme = found["scheme"].lower()
    if scheme not in PORTS:
        raise BadURL("only http and https can be asked for")
    port = int(found["port"]) if found["port"] else PORTS[scheme]
    if port > 65535:
        raise BadURL("a port is a number up to 65535")
    path = found["path"] or "/"
    if any(_DOTS.fullmatch(segment) for segment in path.split("/")):
        raise BadURL("a path has no `.` and `..` in it, encoded or not; write the path that is meant")
    if "%00" in path or "%00" in found["query"]:
        raise BadURL("a URL holds no NUL")
    return URL(scheme, _host(found["host"]), port, path, found["query"])


def join(base: URL, reference: str) -> tuple[URL, str]:
    """What a link on the page `base` points to, and its fragment without `#`."""
    if not reference.isascii() or not reference.isprintable() or "\\" in reference or " " in reference:
        raise BadURL("a link is printable ASCII without backslash and space")
    if len(reference) > LONGEST:
        raise BadURL(f"a link may be {LONGEST} characters long")
    link, _, fragment = reference.partition("#")
    if _AMBIGUOUS.match(link):
        raise BadURL("a link has `//` and a host after its scheme, and nowhere else three slashes or a scheme's colon")
    try:
        whole = urljoin(str(base), link)
    except ValueError:
        raise BadURL("a link's brackets hold an IPv6 address") from None
    return parse(whole), fragment


def plain(path: str) -> bool:
    """Every server reads this path alike: nothing in it is empty, encoded as a separator, or goes up."""
    lowered = path.lower()
    return "//" not in path and not any(code in lowered for code in ("%2f", "%5c", "%2e", "%25", "%00"))


def _host(written: str) -> str:
    if written.startswith("["):
        try:
            return str(IPv6Address(written[1:-1]))
        except AddressValueError:
            raise BadURL("what stands in the brackets is no IPv6 address") from None
    host = written.lower()
    if _NUMERIC.fullmatch(host.rpartition(".")[2]):
        try:
            return str(IPv4Address(host))
        except AddressValueError:
            raise BadURL("an IPv4 address is four decimal numbers without leading zeros") from None
    if len(host) > 253 or _NAME.fullmatch(host) is None:
        raise BadURL("a host is letters, digits and hyphens in labels between dots, with no dot at its end")
    return host
