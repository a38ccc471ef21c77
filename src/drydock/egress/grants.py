"""What a box may reach, and how much of it."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import unquote

from drydock.egress.url import URL, BadURL, parse, plain
from drydock.errors import Invalid

MIB = 1 << 20
_FILENAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+!-]{0,254}", re.ASCII)
Ecosystem = Literal["pypi", "npm"]
_LOGIN = re.compile(r"(?:[A-Za-z0-9._~!$&'()*+,;=:-]|%[0-9A-Fa-f]{2})*", re.ASCII)
_CREDENTIAL = re.compile(r"[!-~]+(?: [!-~]+)*", re.ASCII)


@dataclass(frozen=True)
class Credential:
    """The value of an Authorization header. It goes to the index's own origin and is never shown."""

    authorization: str = field(repr=False)

    def __post_init__(self) -> None:
        if not _CREDENTIAL.fullmatch(self.authorization):
            raise Invalid("the index's credential is empty or holds characters that no header can carry")

    @classmethod
    def basic(cls, user: str, password: str) -> Credential:
        if ":" in user:
            raise Invalid("the user in the index's credential holds a colon, which basic authentication cannot carry")
        return cls("Basic " + base64.b64encode(f"{user}:{password}".encode()).decode())

    @classmethod
    def bearer(cls, token: str) -> Credential:
        return cls(f"Bearer {token}")


@dataclass(frozen=True)
class PackagesGrant:
    """GET and HEAD of the pages below `index`, and of the files that those pages link to."""

    ecosystem: Ecosystem
    index: URL
    """Its path ends with `/`. It holds no credential."""
    credential: Credential | None = None

    @classmethod
    def of(cls, ecosystem: Ecosystem, index: str, credential: Credential | None = None) -> PackagesGrant:
        """From an index URL as people write it, `https://user:password@host/simple` included."""
        scheme, _, rest = index.partition("://")
        authority, _, path = rest.partition("/")
        login, _, host = authority.rpartition("@")
        if _LOGIN.fullmatch(login) is None:  # `https://one?@other/` is `one` to some and `other` to us
            raise Invalid(
                f"the user or password of the {ecosystem} index holds a character that no URL can; write it as %XX",
                where="index",
            )
        if login and credential is None:
            name, _, password = login.partition(":")
            credential = Credential.basic(unquote(name), unquote(password))
        try:
            url = parse(f"{scheme}://{host}/{path}".rstrip("/") + "/")
        except BadURL as wrong:
            raise Invalid(f"the address of the {ecosystem} index cannot be used: {wrong}", where="index") from None
        if url.query or not plain(url.path):
            raise Invalid(f"the address of the {ecosystem} index ends with a plain path, no query", where="index")
        return cls(ecosystem, url, credential)


@dataclass(frozen=True)
class FileGrant:
    """GET and HEAD of one file by https, on a host whose every address is public. No credential goes with it."""

    url: URL

    @classmethod
    def of(cls, address: str) -> FileGrant:
        try:
            url = parse(address)
        except BadURL as wrong:
            raise Invalid(f"invalid requirement: {wrong}", where="requirements") from None
        if url.scheme != "https" or not _FILENAME.fullmatch(url.path.rpartition("/")[2]):
            raise Invalid(
                "invalid requirement: a file's address is https and ends with a plain name", where="requirements"
            )
        return cls(url)

    @property
    def filename(self) -> str:
        return self.url.path.rpartition("/")[2]

    @property
    def key(self) -> str:
        return hashlib.blake2b(f"file {self.url}".encode(), digest_size=16).hexdigest()

    @property
    def path(self) -> str:
        """By which the box asks the relay for it."""
        return f"/files/{self.key}/{self.filename}"


@dataclass(frozen=True)
class WebGrant:
    """GET and HEAD by https on port 443 of hosts whose every address is public."""


Grant = PackagesGrant | WebGrant | FileGrant


@dataclass(frozen=True)
class Bounds:
    """For one box, counted from its relay's first connection. Each has its own class of denial."""

    bytes: int = 4096 * MIB
    """From all upstreams together."""
    connections: int = 64
    """Open at once. uv opens 50."""
    requests: int = 20_000
    seconds: float = 900.0
    page_bytes: int = 24 * MIB
    """One index page."""
    links: int = 100_000
    """Files that the pages served to one box link to."""
    redirects: int = 5
    head_bytes: int = 16 * 1024
    head_seconds: float = 10.0
    """From the first byte of a request's head to its last."""
    idle_seconds: float = 60.0
    """Between two requests."""
    upstream_seconds: float = 30.0
    """The longest silence of an upstream, and of a program that does not read what it asked for."""
    connect_seconds: float = 10.0
    reply_seconds: float = 600.0
    """One reply from its request to its last byte."""
    refusal_seconds: float = 0.25
    """For each refusal after the first hundred, and each connection on which nothing was asked."""
    web_bytes: int = 5 * MIB
    web_seconds: float = 20.0
