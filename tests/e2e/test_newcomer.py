"""Somebody who has just cloned it: an empty folder, no virtual environment, and the README's two commands."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import pytest

from tests.e2e.conftest import await_health, free_port, own_environment
from tests.e2e.readme import ADDRESS, ROOT, first_call, timeless

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]


def test_from_a_fresh_clone_make_run_alone_ends_in_a_server_that_answers(tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", ROOT, clone], check=True)
    environ = own_environment()
    environ.pop("VIRTUAL_ENV", None)
    environ["PATH"] = ":".join(part for part in environ["PATH"].split(":") if not part.startswith(str(ROOT)))
    port = free_port()
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(
            ["make", "run", f"ARGS=--port {port}"],
            cwd=clone,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        await_health(port, process, 300)
        command, answer = first_call()
        done = subprocess.run(
            command.replace(ADDRESS, f"127.0.0.1:{port}"), shell=True, capture_output=True, check=True
        )
        assert timeless(json.loads(done.stdout)) == timeless(answer)
        again = subprocess.run(["make", "setup"], cwd=clone, env=environ, capture_output=True, check=True)
        assert again.stderr == b"", "a second set-up had something to do"
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(20)
