"""A server with many lives over one data folder, and what must be true of its runs in the end."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx

from drydock.run.ending import TERMINAL
from drydock.store.database import connect
from drydock.store.journal import Journal
from tests.standins.run_server import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
LISTENS = re.compile(r"listens on (http://\S+)")
SOON = 30.0


class Life:
    """One process."""

    def __init__(self, data: Path, effects: Path, *more: str) -> None:
        self.output = data.with_name(f"{data.name}.log")
        with self.output.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.standins.run_server", str(data), str(effects), *more],
                cwd=ROOT,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        assert self.process.stdout is not None
        found = LISTENS.search(self.process.stdout.readline())
        assert found, self.output.read_text()
        self.url = found.group(1)
        self.healthy_at = time.monotonic()
        self.client = httpx.Client(base_url=self.url, timeout=SOON)

    def start(self, task: str = "do it") -> str:
        reply = self.client.post("/v1/runs", json={"task": task})
        assert reply.status_code == 202, reply.text
        return str(reply.json()["id"])

    def show(self, run: str) -> dict[str, Any]:
        shown: dict[str, Any] = self.client.get(f"/v1/runs/{run}").json()
        return shown

    def until_ended(self, run: str) -> dict[str, Any]:
        self.client.get(f"/v1/runs/{run}/events")
        return self.show(run)

    def until_dead(self) -> None:
        assert self.process.wait(SOON) == -signal.SIGKILL, self.output.read_text()[-4000:]

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, wrong: BaseException | None, at: TracebackType | None) -> None:
        self.client.close()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(SOON)
            except subprocess.TimeoutExpired:
                self.kill()
                raise


def wait(seconds: float) -> None:
    threading.Event().wait(seconds)


def must_be_whole(run: str, shown: dict[str, Any], effects: Path, data: Path, database: str = "") -> None:
    """One ending; no event lost, doubled or renumbered; no command twice, none half done; one commit."""
    assert shown["status"] == "completed", shown
    opened = connect(database, data)
    try:
        journal = Journal(opened, lambda run, fresh: None)
        events = journal.read(run)
        assert journal.broken_at(run) is None
    finally:
        opened.close()
    kinds = [event.type for event in events]
    assert [kind for kind in kinds if kind in TERMINAL] == [kinds[-1]] == ["run_completed"]
    assert kinds[0] == "run_queued"
    for once in ("run_queued", "run_started", "repo_clone_started", "commit_created", "diff_generated"):
        assert kinds.count(once) == 1, kinds
    assert kinds.count("agent_decision") == kinds.count("command_completed") == COMMANDS
    told, _, left = shown["result"]["summary"].partition(" | ")
    completed = [str(number) for number, how in enumerate(told.split()) if how == "completed"]
    assert left.split(",") == completed or (not left and not completed)
    done = Counter(effects.read_text().split("\n"))
    assert all(done[f"command-{number}"] <= 1 for number in range(COMMANDS)), done
    assert len([what for what in done if what.startswith("commit ")]) == 1
