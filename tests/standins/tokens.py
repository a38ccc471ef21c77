"""Tokens as the service that shares a secret with us mints them, and as an attacker does."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from typing import Any

SECRET = "a-secret-that-two-services-share"
LIFE_S = 3600


def part(value: Any) -> str:
    raw = value if isinstance(value, bytes) else json.dumps(value, separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def token(
    sub: Any = "7",
    *,
    secret: str = SECRET,
    header: Any = None,
    digest: str = "sha256",
    without: str = "",
    **claims: Any,
) -> str:
    """A good one unless told otherwise; claims add to the usual ones or replace them."""
    now = int(time.time())
    usual = {"sub": sub, "iss": "assistant", "aud": "assistant", "iat": now, "exp": now + LIFE_S, **claims}
    usual.pop(without, None)
    signed = f"{part(header or {'alg': 'HS256', 'typ': 'JWT'})}.{part(usual)}"
    made = hmac.digest(secret.encode(), signed.encode(), getattr(hashlib, digest))
    return f"{signed}.{part(made)}"


def bearer(sub: Any = "7", **told: Any) -> dict[str, str]:
    return {"Authorization": f"Bearer {token(sub, **told)}"}
