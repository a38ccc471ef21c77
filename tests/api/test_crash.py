"""The server killed in the middle of everything: whatever it owned ends without it."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from pathlib import Path

import httpx
import pytest

from tests.attacks.started import Started, describe

PLACES = 3
CODE = """
import os, signal, time
for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
for _ in range(5):
    if os.fork() == 0:
        os.setsid()
        break
time.sleep(60)
"""


def order(url: str) -> None:
    with contextlib.suppress(httpx.HTTPError):  # that nobody answers is the point
        httpx.post(f"{url}/code/execute", json={"code": CODE, "timeout_seconds": 60}, timeout=70)


@pytest.mark.serial
def test_killed_under_load_no_program_outlives_it_and_the_next_start_clears_up(tmp_path: Path) -> None:
    server = Started(tmp_path, max_concurrent=PLACES)
    clients = [threading.Thread(target=order, args=(server.url,)) for _ in range(PLACES)]
    try:
        for client in clients:
            client.start()
        server.await_load(PLACES, 10)
        os.kill(server.process.pid, signal.SIGKILL)
        give_up = time.monotonic() + 1
        while alive := server.box_processes():
            assert time.monotonic() < give_up, describe(alive)
    finally:
        server.close()
        for client in clients:
            client.join()
    began = time.monotonic()
    with Started(tmp_path, max_concurrent=1) as heir:
        assert heir.run("print('back')")["stdout"] == "back\n"
        assert time.monotonic() - began < 10
        left = {path.name for group in heir.groups() for path in group.iterdir() if path.is_dir()}
        assert left == {"slot-0"}
    assert heir.groups() == []
    assert str(tmp_path) not in Path("/proc/self/mountinfo").read_text()
