"""A server that is killed while a package is built: nothing goes on, and the next start finds nothing of it."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.attacks.started import Started
from tests.packages.test_hostile import scripted
from tests.standins.index import Index
from tests.standins.wheels import wheel

BUILDS = """
import time, urllib.request, urllib.error
try:
    urllib.request.urlopen("http://127.0.0.1:8000/pypi/simple/began/")
except urllib.error.HTTPError:
    pass
time.sleep(600)
"""


def until(holds: Callable[[], bool], within: float) -> None:
    deadline = time.monotonic() + within
    while not holds():
        assert time.monotonic() < deadline, f"not within {within} s"
        time.sleep(0.01)


@pytest.mark.parametrize("isolation", ["box", pytest.param("gvisor", marks=pytest.mark.long)])
def test_a_killed_server_takes_its_builds_along(tmp_path: Path, index: Index, isolation: str) -> None:
    index.publish(scripted(BUILDS), wheel("alpha"))
    told: dict[str, Any] = {"python_index": index.pypi, "isolation": isolation, "max_concurrent": 1}
    with Started(tmp_path / "first", data=tmp_path / "data", **told) as server:
        asking = threading.Thread(target=hung_up, args=(server,))
        asking.start()
        until(lambda: "/simple/began/" in index.paths(), 30)
        server.process.kill()
        server.process.wait()
        asking.join()
        until(lambda: server.box_processes() == set(), 1.0)
        until(lambda: str(tmp_path) not in loops(), 5.0)
        server.close()
    builds = tmp_path / "data" / "packages" / "builds"
    with Started(tmp_path / "second", data=tmp_path / "data", **told) as server:
        until(lambda: list(builds.iterdir()) == [], 5.0)
        assert server.run("import alpha; print(1)", requirements=["alpha"])["stdout"] == "1\n"
        assert [path for path in (tmp_path / "data" / "layers").iterdir() if path.name.startswith("building-")] == []


def hung_up(server: Started) -> None:
    with pytest.raises(httpx.TransportError):
        server.run("print(1)", requirements=["mallory"], timeout_seconds=60)


def loops() -> str:
    return subprocess.run(["losetup", "-a"], capture_output=True, text=True, check=True).stdout
