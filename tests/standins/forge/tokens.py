"""Who may do what on the forge, and until when. The clock is the test's own."""

from __future__ import annotations

import base64
import binascii
import secrets
from dataclasses import dataclass


@dataclass
class Grant:
    repositories: frozenset[str] | None
    """None is all of them."""
    write: bool
    expired: bool = False


class Tokens:
    def __init__(self) -> None:
        self._granted: dict[str, Grant] = {}

    def issue(self, *repositories: str, write: bool = True) -> str:
        token = "ghs_" + secrets.token_hex(18)
        self._granted[token] = Grant(frozenset(repositories) or None, write)
        return token

    def expire(self, token: str) -> None:
        self._granted[token].expired = True

    def of(self, authorization: str) -> Grant | None:
        """Of basic authentication, as git is told, or of a bearer, as the REST interface is."""
        scheme, _, value = authorization.partition(" ")
        if scheme.lower() == "basic":
            try:
                value = base64.b64decode(value, validate=True).decode().partition(":")[2]
            except (binascii.Error, UnicodeDecodeError):
                return None
        grant = self._granted.get(value)
        return grant if grant and not grant.expired else None
