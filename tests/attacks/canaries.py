"""Secrets planted where an attacker looks, and the search for them in whatever comes back."""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PREFIX = "leak-"
"""Programs search for it; no canary is ever in a program's own text."""


class Canaries:
    """Each has a name, so that a failure says which secret was seen and not only that one was."""

    def __init__(self) -> None:
        self._planted: dict[str, list[bytes]] = {}

    def new(self, name: str) -> str:
        """A fresh secret; from now on no reply may hold it."""
        value = PREFIX + secrets.token_hex(16)
        self._planted[name] = list(_spellings(value.encode()))
        return value

    def spell(self, name: str, value: str) -> None:
        """Another text in which that secret must not be seen."""
        self._planted[name] += _spellings(value.encode())

    def file(self, path: Path, name: str, mode: int = 0o600) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.new(name))
        path.chmod(mode)
        return path

    def seen_in(self, reply: bytes) -> list[str]:
        """Names of the canaries in it, also in base64 and in the contents of files that came back."""
        texts = [reply, *_decoded(reply)]
        return [name for name, spelled in self._planted.items() if any(s in text for s in spelled for text in texts)]


def _spellings(value: bytes) -> Iterator[bytes]:
    yield value
    yield value.hex().encode()
    yield value[::-1]
    for shift in range(3):
        # As part of a longer text in base64: the characters at both edges depend on the neighbours.
        text = base64.b64encode(b"\0" * shift + value)
        yield text[4 if shift else 0 : len(text) - 4]


def _decoded(reply: bytes) -> Iterator[bytes]:
    try:
        body: Any = json.loads(reply)
    except ValueError:
        return
    yield from _strings(body)


def _strings(value: Any) -> Iterator[bytes]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _strings(key)
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)
    elif isinstance(value, str):
        yield value.encode("utf-8", "surrogatepass")
        try:
            yield base64.b64decode(value, validate=True)
        except ValueError:
            return
