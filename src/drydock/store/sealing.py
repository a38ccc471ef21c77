"""Authenticated encryption at rest: AES-256-GCM under the operator's key.

An envelope is version, key id, nonce, ciphertext with tag. Version, key id and the name of what is sealed are
authenticated with it, so a sealed value moved to another name, or to another key, does not open. Several keys may be
at hand: the first seals, all open; that is how a key is replaced. Nonces are random, which is sound for 2^32 values
under one key: dozens of secrets, and a credential for each run that was lent one.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
import stat
from collections.abc import Sequence
from pathlib import Path

from drydock.errors import BadSetting, CannotStart
from drydock.store.folder import make_folder, write_once

VARIABLE = "DRYDOCK_SECRETS_KEY"
FILE = "secrets.key"
KEY_BYTES = 32
_VERSION = b"\x01"
_ID_BYTES = 8
_NONCE_BYTES = 12
_HEAD = len(_VERSION) + _ID_BYTES


class CannotOpen(CannotStart):
    """A sealed value does not open: its key is not at hand, or it was changed or moved."""

    hint = f"Give the key that sealed it, after the new one in {VARIABLE} or secrets.key, or set the secret again."


class Sealer:
    def __init__(self, keys: Sequence[bytes]) -> None:
        if not keys:
            raise ValueError("a sealer needs a key")
        self._keys = {_key_id(key): key for key in keys}
        self._first = _key_id(keys[0])

    def seal(self, name: str, value: bytes) -> bytes:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        head = _VERSION + self._first
        nonce = os.urandom(_NONCE_BYTES)
        return head + nonce + AESGCM(self._keys[self._first]).encrypt(nonce, value, head + name.encode())

    def open(self, name: str, sealed: bytes) -> bytes:
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        head, nonce = sealed[:_HEAD], sealed[_HEAD : _HEAD + _NONCE_BYTES]
        if len(nonce) != _NONCE_BYTES or head[:1] != _VERSION:
            raise CannotOpen(f"The secret {name} is not in a form that this Drydock can read.")
        key = self._keys.get(head[1:])
        if key is None:
            raise CannotOpen(f"The secret {name} was sealed with a key that is not at hand (id {head[1:].hex()}).")
        try:
            return AESGCM(key).decrypt(nonce, sealed[_HEAD + _NONCE_BYTES :], head + name.encode())
        except InvalidTag:
            raise CannotOpen(f"The secret {name} was changed or moved after it was sealed.") from None


def open_sealer(data: Path, told: str = "") -> Sealer:
    """A sealer with the keys of `told` (DRYDOCK_SECRETS_KEY), then those of DATA/secrets.key.

    When neither is there, the file is made, once. Both hold base64 keys of 32 bytes, between spaces or lines.
    """
    keys = _parse(told, VARIABLE)
    path = data / FILE
    kept = _read(path)
    if kept is None and not keys:
        make_folder(data)
        write_once(path, base64.b64encode(os.urandom(KEY_BYTES)) + b"\n")
        kept = _read(path)
    if kept is not None:
        keys += _parse(kept, FILE)
    if not keys:
        raise CannotStart(f"{FILE} in the data folder holds no key.", hint="Put the key back from a copy of it.")
    return Sealer(keys)


def _read(path: Path) -> str | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(descriptor, encoding="ascii") as file:
            about = os.fstat(descriptor)
            if not stat.S_ISREG(about.st_mode) or about.st_mode & 0o077:
                raise CannotStart(
                    f"{FILE} in the data folder can be read by others than its owner.",
                    hint=f"Run `chmod 600` on {FILE}; if others have read it, replace the key.",
                )
            return file.read()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as wrong:
        raise CannotStart(
            f"{FILE} in the data folder cannot be read: {getattr(wrong, 'strerror', None) or 'not text'}.",
            hint="Run as its owner; it must be a plain file.",
        ) from None


def _parse(text: str, where: str) -> list[bytes]:
    keys = []
    for word in text.split():
        try:
            key = base64.b64decode(word, validate=True)
        except (binascii.Error, ValueError):
            key = b""
        if len(key) != KEY_BYTES:
            raise BadSetting(
                f"{where}: a key must be {KEY_BYTES} bytes in base64",
                where=where,
                hint="`openssl rand -base64 32` makes one.",
            )
        keys.append(key)
    return keys


def _key_id(key: bytes) -> bytes:
    return hmac.digest(key, b"drydock sealing key id", hashlib.sha256)[:_ID_BYTES]
