"""The head of a request, as a hostile program wrote it. One grammar, read line by line; what is not of it is refused
and ends the connection, so that nothing can be read twice or in two ways."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass

from drydock.egress.denial import DenialClass, Refused
from drydock.egress.grants import Bounds

HEADERS = 64
_REQUEST = re.compile(rb"([A-Z]{1,16}) ([\x21-\x7e]{1,8192}) HTTP/1\.1", re.ASCII)
_NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}", re.ASCII)
_VALUE = re.compile(rb"[\x20-\x7e\t]*", re.ASCII)
"""Blanks around a value are stripped, not matched: a pattern with three runs of blanks takes cubic time."""
_ONCE = {"host", "range", "if-range", "if-none-match", "if-modified-since", "accept", "connection"}
_BODIES = {"content-length", "transfer-encoding", "trailer", "expect", "upgrade"}


@dataclass(frozen=True)
class Head:
    method: str
    target: str
    headers: dict[str, str]
    """Names in lower case; of those that we read, each stood there once."""

    @property
    def last(self) -> bool:
        """The program wants the connection to end with this request."""
        return "close" in self.headers.get("connection", "").lower()


async def read_head(reader: asyncio.StreamReader, bounds: Bounds) -> Head | None:
    """None when the program is done with this connection."""
    try:
        async with asyncio.timeout(bounds.idle_seconds):
            first = await reader.read(1)
    except TimeoutError:
        return None
    if not first:
        return None
    try:
        async with asyncio.timeout(bounds.head_seconds):
            return parse_head(await _lines(reader, first, bounds.head_bytes))
    except TimeoutError:
        raise _odd(f"the head of a request has to come within {bounds.head_seconds:g} s", "slow", 408) from None


async def _lines(reader: asyncio.StreamReader, first: bytes, most: int) -> list[bytes]:
    lines: list[bytes] = []
    held = first
    left = most
    while True:
        try:
            line = held + await reader.readuntil(b"\n")
        except asyncio.LimitOverrunError:
            left = -1
        except asyncio.IncompleteReadError:
            raise ConnectionResetError from None
        else:
            left -= len(line)
        if left < 0:
            raise _odd(f"the head of a request has at most {most} bytes", "size", 431)
        held = b""
        if line == b"\r\n":
            return lines
        if not line.endswith(b"\r\n"):
            raise _odd("each line of a head ends with CR LF")
        lines.append(line[:-2])


def parse_head(lines: list[bytes]) -> Head:
    found = _REQUEST.fullmatch(lines[0]) if lines else None
    if found is None:
        raise _odd("a request begins `GET target HTTP/1.1`")
    method, target = found[1].decode(), found[2].decode()
    if method not in ("GET", "HEAD"):
        raise _odd(_method(method), "method", 405, path=target)
    if len(lines) > HEADERS:
        raise _odd(f"a request has at most {HEADERS} headers", "size", 431)
    headers: dict[str, str] = {}
    for line in lines[1:]:
        written, colon, value = line.partition(b":")
        if not colon or _NAME.fullmatch(written) is None or _VALUE.fullmatch(value) is None:
            raise _odd("a header is `name: value` in ASCII on one line", path=target)
        name = written.decode().lower()
        if name in _BODIES:
            raise _odd(f"a request has no body and no {name} header; use GET without data", path=target)
        if name in headers and name in _ONCE:
            raise _odd(f"a request has one {name} header", path=target)
        headers[name] = value.strip(b" \t").decode()
    if "host" not in headers:
        raise _odd("a request has a Host header", path=target)
    return Head(method, target, headers)


def _method(method: str) -> str:
    if method == "CONNECT":
        return "CONNECT would hide the path that is asked for; ask the relay itself with `GET https://host/path`"
    return f"{method} is not granted; the relay passes on GET and HEAD alone"


def _odd(sentence: str, kind: DenialClass = "spelling", status: int = 400, path: str = "") -> Refused:
    return Refused(kind, sentence, path=path, status=status)
