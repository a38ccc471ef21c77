"""Services of the host that no program in a box may reach: real ones, on every kind of address."""

from __future__ import annotations

import secrets
import selectors
import socket
import threading
from pathlib import Path

GREETING = b"welcome to the host\n"


class Listeners:
    """Accept and greet whoever comes, and remember that somebody came."""

    def __init__(self, path: Path) -> None:
        self._abstract = "drydock-attacks-" + secrets.token_hex(8)
        self._path = path
        self._tcp = _listen(socket.AF_INET, ("127.0.0.1", 0))
        self._tcp6 = _listen(socket.AF_INET6, ("::1", 0))
        self._udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._udp.bind(("127.0.0.1", 0))
        self._unix = _listen(socket.AF_UNIX, "\0" + self._abstract)
        self._file = _listen(socket.AF_UNIX, str(path))
        path.chmod(0o777)
        self._heard: list[bytes] = []
        self._wake, self._woken = socket.socketpair()
        self._thread = threading.Thread(target=self._serve, name="listeners")
        self._thread.start()

    def places(self) -> dict[str, str]:
        return {
            "TCP": str(self._tcp.getsockname()[1]),
            "TCP6": str(self._tcp6.getsockname()[1]),
            "UDP": str(self._udp.getsockname()[1]),
            "ABSTRACT": self._abstract,
            "SOCKET": str(self._path),
        }

    def heard(self) -> bytes:
        """From whom, since the last time; empty when nobody came."""
        heard, self._heard = self._heard, []
        return b" ".join(heard)

    def _serve(self) -> None:
        with selectors.DefaultSelector() as waiting:
            for listener in (self._tcp, self._tcp6, self._udp, self._unix, self._file, self._woken):
                waiting.register(listener, selectors.EVENT_READ)
            while True:
                for key, _ in waiting.select():
                    if key.fileobj is self._woken:
                        return
                    if key.fileobj is self._udp:
                        self._udp.sendto(GREETING, self._udp.recvfrom(2048)[1])
                        self._heard.append(b"udp")
                    else:
                        assert isinstance(key.fileobj, socket.socket)
                        with key.fileobj.accept()[0] as visitor:
                            self._heard.append(key.fileobj.family.name.encode())
                            visitor.sendall(GREETING)

    def close(self) -> None:
        self._wake.close()
        self._thread.join()
        for each in (self._tcp, self._tcp6, self._udp, self._unix, self._file, self._woken):
            each.close()


def _listen(family: socket.AddressFamily, address: tuple[str, int] | str) -> socket.socket:
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.bind(address)
    listener.listen(16)
    return listener
