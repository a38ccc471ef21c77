"""Tokens of users: JSON web tokens signed by HS256 with a secret that their issuer shares with this server.

Only what the contract names is looked at. Whatever is wrong with one, the answer is the same: it is none.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn, TypeGuard

PARTY = "assistant"
"""The one issuer and audience that a token may name; it may also name none."""
_PART = re.compile(r"[A-Za-z0-9_-]+={0,2}")
_NUMBER = re.compile(r"[0-9]{1,18}")
_LARGEST = 10**18


@dataclass(frozen=True, slots=True)
class User:
    number: int
    plan: str = ""


def verify(text: str, secret: str, now: float) -> User | None:
    """Who the token speaks for. None when anything about it is wrong, or when there is no secret to judge it by."""
    parts = text.split(".")
    if not secret or len(parts) != 3 or not all(_PART.fullmatch(part) for part in parts):
        return None
    header, claims = _object(parts[0]), _object(parts[1])
    if header is None or claims is None or header.get("alg") != "HS256":
        return None
    wanted = hmac.digest(secret.encode(), f"{parts[0]}.{parts[1]}".encode(), hashlib.sha256)
    if not hmac.compare_digest(wanted, _bytes(parts[2]) or b""):
        return None
    if not _is_in_time(claims, now) or not all(_is_ours(claims.get(name)) for name in ("iss", "aud")):
        return None
    number = _positive(claims.get("sub"))
    plan = claims.get("plan")
    return None if number is None else User(number, plan if isinstance(plan, str) else "")


def _is_in_time(claims: Mapping[str, Any], now: float) -> bool:
    expires, begins = claims.get("exp"), claims.get("nbf")
    if not _is_number(expires) or expires <= now:
        return False
    return not _is_number(begins) or begins <= now


def _is_ours(party: Any) -> bool:
    return party is None or party in ("", PARTY)


def _positive(subject: Any) -> int | None:
    if isinstance(subject, str) and _NUMBER.fullmatch(subject):
        subject = int(subject)
    if isinstance(subject, bool) or not isinstance(subject, int):
        return None
    return subject if 0 < subject < _LARGEST else None


def _is_number(value: Any) -> TypeGuard[int | float]:
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool)


def _object(part: str) -> Mapping[str, Any] | None:
    raw = _bytes(part)
    try:
        value = json.loads(raw or b"", parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _bytes(part: str) -> bytes | None:
    bare = part.rstrip("=")
    try:
        return base64.urlsafe_b64decode(bare + "=" * (-len(bare) % 4))
    except (binascii.Error, ValueError):
        return None
