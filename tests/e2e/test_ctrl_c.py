"""Ctrl-C in a terminal reaches every process of the server's group at once, not the server alone."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from pathlib import Path
from typing import Any

import httpx

from tests.e2e.conftest import DRYDOCK, await_health, free_port, own_environment


def test_a_program_that_runs_when_ctrl_c_is_pressed_may_end(tmp_path: Path) -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    answers: list[dict[str, Any]] = []
    code = "import time; print('begun', flush=True); time.sleep(1); print('ended')"
    ask = threading.Thread(
        target=lambda: answers.append(httpx.post(f"{url}/execute", json={"code": code}, timeout=20).json())
    )
    command = [str(DRYDOCK), "serve", "--port", str(port), "--data", str(tmp_path / "data")]
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(
            command, cwd=tmp_path, env=own_environment(), stdout=log, stderr=log, start_new_session=True
        )
    try:
        await_health(port, process, 30)
        ask.start()
        while httpx.get(f"{url}/health").json()["current_load"] == 0:
            assert ask.is_alive()
        os.killpg(process.pid, signal.SIGINT)
        ask.join(15)
        assert answers[0]["stdout"] == "begun\nended\n", answers
        assert process.wait(15) == 0
    finally:
        process.kill()
