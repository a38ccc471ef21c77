"""Attacks on the one way out of a box, as data: what is asked of it, and what must not come of that."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.egress.door import request
from tests.egress.world import World

CHECKOUT = Path(__file__).parents[2]
ENOUGH = 4 << 20
"""Bytes after which an attacker has seen that nothing stops him."""


class RelayHost:
    """The process that serves the doors; one at a time is open."""

    def __init__(self, source: Path | None = None, plain: bool = False) -> None:
        """`source` is another copy of the package's folder."""
        paths = [str(CHECKOUT), *([str(source)] if source else [])]
        command = [sys.executable, "-m", "tests.standins.relay_host", *(["plain"] if plain else [])]
        self._process = subprocess.Popen(
            command,
            env={**os.environ, "PYTHONPATH": ":".join(reversed(paths))},
            cwd="/",
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def say(self, line: str) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def __enter__(self) -> RelayHost:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.kill()
        self._process.communicate()


@dataclass(frozen=True, kw_only=True)
class Knock:
    """One attack on a way out, beside a use of the same means that must work."""

    name: str
    attack: Callable[[Way], None]
    """AssertionError when it has worked."""
    twin: Callable[[Way], None]
    web: bool = True
    index: str = ""
    bounds: Mapping[str, float] = field(default_factory=dict)


class Way:
    """A door that was opened for one attack."""

    def __init__(self, host: RelayHost, world: World, knock: Knock, trusted: str) -> None:
        self.world, self._host = world, host
        told = {"web": knock.web, "index": knock.index, "bounds": dict(knock.bounds), "trusted": trusted}
        told |= {"names": world.names, "places": [[*at, port] for at, port in world.places.items()]}
        self.port = int(host.say(json.dumps(told)))

    def dialled(self) -> set[tuple[str, int]]:
        return {(address, port) for address, port in self._host.say("report")}

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=10)

    def ask(self, target: str, method: str = "GET", headers: Sequence[str] = (), within: float = 5.0) -> bytes:
        """What comes back until the connection ends, at most so long and so much."""
        host = target.split("/")[2] if "://" in target else "127.0.0.1"
        got = b""
        end = time.monotonic() + within
        with self.connect() as line:
            line.sendall(request(target, host, method, headers))
            while len(got) < ENOUGH and (left := end - time.monotonic()) > 0:
                line.settimeout(left)
                try:
                    piece = line.recv(65536)
                except (TimeoutError, ConnectionResetError):
                    break
                if not piece:
                    break
                got += piece
        return got

    def file(self, project: str) -> str:
        """How this way out is asked for the file that the project's page links to."""
        page = self.ask(f"/pypi/simple/{project}/", headers=["Accept: application/vnd.pypi.simple.v1+json"])
        url = str(json.loads(page.partition(b"\r\n\r\n")[2])["files"][0]["url"])
        return url[url.index("/files/") :] if url.startswith("http://127.0.0.1") else url
