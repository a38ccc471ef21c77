"""One real server for the tests of a session, started as a user starts it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

DRYDOCK = Path(sys.executable).with_name("drydock")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def own_environment() -> dict[str, str]:
    """Ours without what would turn a knob of the server or aim its client elsewhere."""
    return {key: value for key, value in os.environ.items() if not key.startswith(("DRYDOCK_", "SANDBOX_", "SERVER_"))}


def await_health(port: int, process: subprocess.Popen[bytes], within: float) -> float:
    """Seconds until it was healthy."""
    began = time.monotonic()
    while time.monotonic() < began + within:
        assert process.poll() is None, f"the server ended with {process.returncode} before it was healthy"
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5) as reply:
                if reply.status == 200:
                    return time.monotonic() - began
        except (urllib.error.URLError, OSError):
            time.sleep(0.05)
    raise AssertionError(f"not healthy within {within} s")


@pytest.fixture(scope="session")
def dock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Its URL."""
    folder = tmp_path_factory.mktemp("dock")
    port = free_port()
    with (folder / "log").open("wb") as log:
        command = [str(DRYDOCK), "serve", "--port", str(port), "--data", str(folder / "data")]
        process = subprocess.Popen(command, cwd=folder, env=own_environment(), stdout=log, stderr=log)
    try:
        await_health(port, process, 30)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            assert process.wait(15) == 0, (folder / "log").read_text(errors="replace")
        finally:
            process.kill()
