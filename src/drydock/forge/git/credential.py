"""Who we are to the forge: the value of one header, added outside of every box, for one origin."""

from __future__ import annotations

from drydock.egress.grants import Credential
from drydock.errors import Invalid

USER = "x-access-token"
"""What GitHub wants as the user beside a token of an App; others take any."""


def of_token(token: str) -> Credential:
    if not token.isascii() or not token.isprintable() or not token.strip():
        raise Invalid("the forge's token is empty or holds characters that no header can carry")
    return Credential.basic(USER, token)


__all__ = ["Credential", "of_token"]
