"""The server's own life, from outside, with real signals."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

DRYDOCK = str(Path(sys.executable).with_name("drydock"))

pytestmark = pytest.mark.serial


class Process:
    """`drydock serve` as a process of its own."""

    def __init__(self, data: Path, **told: str) -> None:
        plain = {name: value for name, value in os.environ.items() if not name.startswith(("DRYDOCK_", "SANDBOX_"))}
        variables = {"DRYDOCK_DATA": str(data), "DRYDOCK_PORT": "0"} | {
            f"DRYDOCK_{k.upper()}": v for k, v in told.items()
        }
        self.began = time.monotonic()
        self.process = subprocess.Popen(
            [DRYDOCK, "serve"],
            cwd=data.parent,
            env=plain | variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def listening(self) -> str:
        """The address, as soon as it has been told."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert "listens on" in line, self.process.communicate()
        return line.split("listens on ")[1].split(" ")[0]

    def signal(self, number: int = signal.SIGTERM) -> float:
        self.process.send_signal(number)
        return time.monotonic()

    def end(self) -> tuple[int, str]:
        _, errors = self.process.communicate(timeout=20)
        return self.process.returncode, errors


@pytest.fixture
def processes() -> Iterator[list[Process]]:
    started: list[Process] = []
    yield started
    for each in started:
        if each.process.poll() is None:
            each.process.kill()
        each.process.communicate()


def execute(url: str, code: str, replies: list[httpx.Response]) -> threading.Thread:
    def ask() -> None:
        replies.append(httpx.post(f"{url}/code/execute", content=json.dumps({"code": code}).encode(), timeout=30))

    thread = threading.Thread(target=ask)
    thread.start()
    deadline = time.monotonic() + 5
    while httpx.get(f"{url}/health").json()["current_load"] == 0:
        assert time.monotonic() < deadline
    return thread


def test_it_is_healthy_within_five_seconds_and_says_where_it_is(tmp_path: Path, processes: list[Process]) -> None:
    server = Process(tmp_path)
    processes.append(server)
    url = server.listening()
    assert httpx.get(f"{url}/health").json()["status"] == "healthy"
    assert time.monotonic() - server.began < 5
    server.signal()
    code, _ = server.end()
    assert code == 0


def test_a_second_server_on_the_same_folder_refuses_at_once_naming_the_first(
    tmp_path: Path, processes: list[Process]
) -> None:
    first = Process(tmp_path)
    processes.append(first)
    url = first.listening()
    second = Process(tmp_path)
    processes.append(second)
    code, errors = second.end()
    assert code == 1
    assert str(first.process.pid) in errors
    assert url in errors
    assert httpx.get(f"{url}/health").status_code == 200


def test_a_folder_is_free_again_after_kill_9(tmp_path: Path, processes: list[Process]) -> None:
    first = Process(tmp_path)
    processes.append(first)
    first.listening()
    first.signal(signal.SIGKILL)
    first.end()
    second = Process(tmp_path)
    processes.append(second)
    assert httpx.get(f"{second.listening()}/health").status_code == 200


def test_a_taken_port_is_told_with_its_address(tmp_path: Path, processes: list[Process]) -> None:
    first = Process(tmp_path / "a")
    processes.append(first)
    address = first.listening().removeprefix("http://")
    second = Process(tmp_path / "b", port=address.split(":")[1])
    processes.append(second)
    code, errors = second.end()
    assert code == 1
    assert address in errors


def test_it_does_not_listen_elsewhere_without_a_credential(tmp_path: Path, processes: list[Process]) -> None:
    server = Process(tmp_path, host="0.0.0.0")
    processes.append(server)
    code, errors = server.end()
    assert code == 1
    assert "SERVER_AUTH_TOKEN" in errors


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_running_work_ends_in_its_grace_and_its_reply_arrives(
    tmp_path: Path, processes: list[Process], number: int
) -> None:
    server = Process(tmp_path, shutdown_grace="10")
    processes.append(server)
    url = server.listening()
    replies: list[httpx.Response] = []
    thread = execute(url, "import time; time.sleep(1.5); print(1)", replies)
    asked = server.signal(number)
    deadline = time.monotonic() + 1
    while (refused := httpx.post(f"{url}/code/execute", content=b'{"code":"1"}')).status_code != 503:
        assert time.monotonic() < deadline
    assert refused.json() == {"error": "server is shutting down"}
    assert refused.headers["retry-after"] == "1"
    assert httpx.post(f"{url}/v1/executions", content=b'{"code":"1"}').json()["error"]["code"] == "shutting_down"
    health = httpx.get(f"{url}/health")
    assert (health.status_code, health.json()["state"]) == (200, "draining")
    assert httpx.get(f"{url}/code/ready").json() == {"ready": False, "reason": "draining"}
    code, _ = server.end()
    thread.join()
    assert code == 0
    assert replies[0].json()["stdout"] == "1\n"
    assert time.monotonic() - asked < 4


def test_work_that_outlasts_its_grace_is_stopped_and_told(tmp_path: Path, processes: list[Process]) -> None:
    server = Process(tmp_path, shutdown_grace="0.5")
    processes.append(server)
    replies: list[httpx.Response] = []
    thread = execute(server.listening(), "import time; time.sleep(60)", replies)
    asked = server.signal()
    code, errors = server.end()
    thread.join()
    assert code == 0, errors
    assert time.monotonic() - asked < 2.5
    told = replies[0].json()
    assert (told["status"], told["exit_code"], told["end_reason"]) == ("error", -1, "server_shutdown")


def test_a_second_signal_ends_it_at_once(tmp_path: Path, processes: list[Process]) -> None:
    server = Process(tmp_path, shutdown_grace="60")
    processes.append(server)
    replies: list[httpx.Response] = []
    url = server.listening()
    thread = execute(url, "import time; time.sleep(60)", replies)
    server.signal()
    deadline = time.monotonic() + 2
    while httpx.get(f"{url}/health").json()["state"] != "draining":
        assert time.monotonic() < deadline
    asked = server.signal()
    server.end()
    thread.join()
    assert time.monotonic() - asked < 2
    assert replies[0].json()["end_reason"] == "server_shutdown"


def test_an_idle_connection_and_a_watcher_do_not_hold_it_up(tmp_path: Path, processes: list[Process]) -> None:
    server = Process(tmp_path, shutdown_grace="5")
    processes.append(server)
    url = server.listening()
    with httpx.Client(base_url=url) as client:
        client.get("/health")
        asked = server.signal()
        assert server.end()[0] == 0
        assert time.monotonic() - asked < 1.5


def test_its_log_is_json_and_holds_no_secret(tmp_path: Path, processes: list[Process]) -> None:
    server = Process(tmp_path, server_auth_token="a-token-of-ours")
    processes.append(server)
    url = server.listening()
    httpx.post(f"{url}/a-token-of-ours?key=a-token-of-ours", headers={"Authorization": "Bearer a-token-of-ours"})
    server.signal()
    _, errors = server.end()
    lines = [json.loads(line) for line in errors.splitlines()]
    assert any(line["event"] == "request" and line["status"] == 404 for line in lines)
    assert all({"time", "level", "event"} <= set(line) for line in lines)
    assert "a-token-of-ours" not in errors
