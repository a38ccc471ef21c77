"""A small internet: names with addresses of our choice, behind which real servers with real certificates listen."""

from __future__ import annotations

import datetime
import socket
import ssl
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from drydock.egress import dial
from drydock.egress.address import Address, read
from tests.standins.index import Host, Page

PUBLIC = "93.184.215.14"
OTHER = "151.101.1.223"


class Listening(Protocol):
    port: int


class Authority:
    """Signs for any name; `trusted` trusts it and nobody else."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a small internet")])
        self._certificate = self._sign(self._name, self._key.public_key(), x509.BasicConstraints(True, None))

    @property
    def pem(self) -> str:
        return self._certificate.public_bytes(serialization.Encoding.PEM).decode()

    def trusted(self) -> ssl.SSLContext:
        return ssl.create_default_context(cadata=self.pem)

    def context(self, *names: str) -> ssl.SSLContext:
        key = ec.generate_private_key(ec.SECP256R1())
        alternatives = x509.SubjectAlternativeName([x509.DNSName(name) for name in names])
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0])])
        certificate = self._sign(subject, key.public_key(), alternatives)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with tempfile.NamedTemporaryFile() as file:
            private = key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
            Path(file.name).write_bytes(private + certificate.public_bytes(serialization.Encoding.PEM))
            context.load_cert_chain(file.name)
        return context

    def _sign(
        self, subject: x509.Name, key: ec.EllipticCurvePublicKey, extension: x509.ExtensionType
    ) -> x509.Certificate:
        now = datetime.datetime.now(datetime.UTC)
        builder = x509.CertificateBuilder(issuer_name=self._name, subject_name=subject, public_key=key)
        builder = builder.serial_number(x509.random_serial_number()).add_extension(extension, critical=True)
        day = datetime.timedelta(days=1)
        return builder.not_valid_before(now - day).not_valid_after(now + day).sign(self._key, hashes.SHA256())


class World:
    """`parts` are what a relay takes in place of the machine's own resolver, sockets and certificates."""

    def __init__(self, authority: Authority) -> None:
        self.names: dict[str, list[str] | list[list[str]]] = {}
        """Name -> its addresses; a list of lists gives one answer after the other, the last one for ever."""
        self.looked_up: list[str] = []
        self.dialled: list[tuple[str, int]] = []
        self._authority = authority
        self.places: dict[tuple[str, int], int] = {}
        """Address and port, and the port of this machine that is there."""
        self.hosts: dict[str, Host] = {}

    @property
    def parts(self) -> dict[str, Any]:
        return {"resolve": self.resolve, "connect": self.connect, "tls": self._authority.trusted}

    def host(self, *names: str, at: str = PUBLIC, port: int = 443, certified: str | None = None) -> Host:
        """A host at this address; on port 443 it speaks TLS."""
        tls = self._authority.context(certified or names[0]) if port == 443 else None
        host = Host(tls=tls)
        host.pages = lambda path, asked: Page(200, {"Content-Type": "text/plain"}, f"{names[0]}{path}\n".encode())
        for name in names:
            self.names.setdefault(name, [at])
        self.place(host, at, port)
        self.hosts[names[0]] = host
        return host

    def host_of(self, name: str) -> Host:
        return self.hosts[name]

    def place(self, host: Listening, at: str, port: int) -> None:
        self.places[(at, port)] = host.port

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        self.looked_up.append(host)
        known: Any = self.names.get(host, [])
        if known and isinstance(known[0], list):
            return list(known.pop(0) if len(known) > 1 else known[0])
        return list(known)

    async def connect(self, address: Address, port: int) -> socket.socket:
        self.dialled.append((str(address), port))
        place = self.places.get((str(address), port))
        if place is None:
            raise ConnectionRefusedError(111, "Connection refused")
        return await dial.connect(read("127.0.0.1"), place)

    def close(self) -> None:
        for host in self.hosts.values():
            host.close()
