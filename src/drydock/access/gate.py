"""The rules of the gate: routing.md section 4. Pure: nothing is read here but what is passed in.

With any credential configured, every request must show one. With none, only a local caller passes: the server is bound
to loopback, the connection comes from there, `Host` is a loopback name, so that a web page whose name was made to
resolve to 127.0.0.1 is refused, and `Origin` is absent or the server's own, so that any other page is.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from drydock.access.caller import Caller
from drydock.access.keys import Key, Snapshot
from drydock.access.tokens import User, verify
from drydock.errors import BadSetting, CannotStart, Forbidden, Unauthorized
from drydock.settings import Settings

LOCAL = Caller("local", "local", "local")
TOKEN = Caller("token", "SERVER_AUTH_TOKEN", "token")

LONGEST_CREDENTIAL = 4096
_BEARER = re.compile(r"bearer[ \t]+([^ \t]+)", re.IGNORECASE)
_TOKEN = re.compile(r"[!-~]+")
_USUAL = frozenset(("127.0.0.1", "localhost", "::1"))
"""Asked three times for each request of a local caller, and known without parsing."""
_AUTHORITY = re.compile(r"(localhost|[0-9.]+|\[::1\])(?::([0-9]{1,5}))?", re.IGNORECASE)
_ANY_AUTHORITY = re.compile(r"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?")


@dataclass(frozen=True, slots=True)
class Knock:
    """What a request shows of itself, every header as often as it came. Nothing else of it counts, least of all
    X-Forwarded-For and its kin, which anybody can write."""

    peer: str
    """The address at the other end of the connection; empty when it has none."""
    host: Sequence[str] = ()
    origin: Sequence[str] = ()
    authorization: Sequence[str] = ()
    api_key: Sequence[str] = ()

    @classmethod
    def of(cls, peer: str, headers: Iterable[tuple[bytes, bytes]]) -> Knock:
        """From raw header pairs, names in any case."""
        shown: dict[bytes, list[str]] = {b"host": [], b"origin": [], b"authorization": [], b"x-api-key": []}
        for name, value in headers:
            if (values := shown.get(name.lower())) is not None:
                values.append(value.decode("latin-1"))
        return cls(peer, *shown.values())


def has_credential(settings: Settings, keys: Snapshot) -> bool:
    """Whether any credential is configured; any one closes all doors."""
    return bool(settings.server_auth_token or settings.jwt_secret.strip()) or len(keys) > 0


def must_have_credential(settings: Settings, keys: Snapshot) -> None:
    """At start: CannotStart when the address is reachable from elsewhere and nothing guards it."""
    token = settings.server_auth_token
    if token and (not _TOKEN.fullmatch(token) or len(token) > LONGEST_CREDENTIAL):
        raise BadSetting(
            "SERVER_AUTH_TOKEN: no request can carry it",
            where="SERVER_AUTH_TOKEN",
            hint=f"Use at most {LONGEST_CREDENTIAL} printable ASCII characters and no space.",
        )
    if is_loopback(settings.host) or has_credential(settings, keys) or settings.open:
        return
    raise CannotStart(
        f"{settings.host or 'Every address'!r} can be reached from other machines, and no credential is configured.",
        hint="Make a key with `drydock keys add NAME`, or set SERVER_AUTH_TOKEN or SANDBOX_JWT_SECRET, or listen on "
        "127.0.0.1; DRYDOCK_OPEN=1 serves everybody who can reach it.",
    )


def admit(settings: Settings, keys: Snapshot, bound_host: str, knock: Knock) -> Caller:
    """Who this is. Unauthorized without a valid credential where one is needed, Forbidden where only locals pass."""
    if has_credential(settings, keys):
        return _with_credential(settings, keys, knock)
    if is_loopback(bound_host):
        return _local(knock)
    if settings.open:
        # The operator opened it to all who can reach it; a web page that they happen to visit is still not them.
        _refuse_foreign_origin(knock, _ANY_AUTHORITY, ("http://", "https://"))
        return LOCAL
    raise Forbidden("No credential is configured, so only callers on this machine are served, and this one is not.")


def is_loopback(host: str) -> bool:
    """Whether this address, or the name `localhost`, can only be reached from this machine. Other names cannot say."""
    if host in _USUAL or host.lower() == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return address == ipaddress.IPv6Address("::1") or (address.version == 4 and address.is_loopback)


def _with_credential(settings: Settings, keys: Snapshot, knock: Knock) -> Caller:
    bearer = _only(_bearer(text) for text in knock.authorization)
    api_key = _only(text.strip(" \t") for text in knock.api_key)
    # All four are worked out whatever the first one says, so that the time tells nothing.
    is_token = _same(bearer, settings.server_auth_token)
    by_bearer = keys.find(bearer)
    by_header = keys.find(api_key)
    user = verify(bearer, settings.jwt_secret.strip(), time.time())
    if is_token:
        return TOKEN
    if key := by_bearer or by_header:
        return _caller(key)
    if user is not None:
        return _user(user)
    shown = knock.authorization or knock.api_key
    raise Unauthorized("The credential is not valid." if shown else "A credential is needed.")


def _local(knock: Knock) -> Caller:
    if not is_loopback(knock.peer):
        raise Forbidden("No credential is configured, so only callers on this machine are served.")
    _refuse_foreign_origin(knock, _AUTHORITY, ("http://",))
    return LOCAL


def _refuse_foreign_origin(knock: Knock, allowed: re.Pattern[str], schemes: Sequence[str]) -> None:
    host = knock.host[0] if len(knock.host) == 1 else ""
    named = allowed.fullmatch(host)
    if named is None or (allowed is _AUTHORITY and not _is_loopback_authority(named)):
        raise Forbidden("No credential is configured, and `Host` is not a name of this machine.")
    own = {scheme + host.lower() for scheme in schemes}
    if knock.origin and (len(knock.origin) > 1 or knock.origin[0].lower() not in own):
        raise Forbidden("No credential is configured, and the request comes from a web page of another origin.")


def _is_loopback_authority(named: re.Match[str]) -> bool:
    return is_loopback(named[1].strip("[]")) and int(named[2] or 0) <= 65535


def _bearer(text: str) -> str:
    found = _BEARER.fullmatch(text.strip(" \t")) if len(text) <= LONGEST_CREDENTIAL + 16 else None
    return found[1] if found else ""


def _only(texts: Iterable[str]) -> str:
    """The one that was sent. Two headers of one name could mean one thing to a proxy and another here: neither counts.

    Nor does one that is too long to be a credential."""
    sent = list(texts)
    return sent[0] if len(sent) == 1 and len(sent[0]) <= LONGEST_CREDENTIAL else ""


def _same(shown: str, token: str) -> bool:
    # Digests have one length, so the compare does not tell that of the token. An empty token is no token.
    raw = shown.encode("latin-1", "backslashreplace")
    same = hmac.compare_digest(hashlib.sha256(raw).digest(), hashlib.sha256(token.encode()).digest())
    return same and bool(token)


def _caller(key: Key) -> Caller:
    return Caller(f"key:{key.id}", key.name, "key", key.scopes)


def _user(user: User) -> Caller:
    """Tokens are a thing of one contract: they open its doors and no other."""
    return Caller(f"user:{user.number}", f"user {user.number}", "user", ("polychat",), user.plan)
