"""Two workers on one PostgreSQL database: one dies or stands still, and the other goes on with its runs."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.run.lives import Life, must_be_whole, wait
from tests.standins.postgres import PostgreSQL

TAKEN_OVER_WITHIN = 8.0


class Port:
    """Workers and doors that share a database and an object store."""

    def __init__(self, folder: Path, database: str, owned: ExitStack) -> None:
        self.database, self._folder, self._owned = database, folder, owned
        self.effects = folder / "effects"
        self.effects.touch()
        (folder / "objects").mkdir()

    def open(self, name: str, role: str = "all") -> Life:
        told = ("--database", self.database, "--objects", f"file://{self._folder}/objects", "--role", role)
        return self._owned.enter_context(Life(self._folder / name, self.effects, *told))

    def until_done(self, what: str) -> None:
        while what not in self.effects.read_text():
            wait(0.02)

    def must_be_whole(self, life: Life, run: str) -> None:
        shown = life.until_ended(run)
        # Every run of these tests leaves its effects in one file, so what is counted there is counted apart.
        must_be_whole(run, shown, self.effects, self._folder, self.database)


@pytest.fixture
def port(tmp_path: Path, postgresql: PostgreSQL) -> Iterator[Port]:
    with ExitStack() as owned:
        yield Port(tmp_path, postgresql.new_database(), owned)


@pytest.mark.serial
def test_a_worker_s_runs_are_taken_over_when_it_is_killed(port: Port) -> None:
    first = port.open("one")
    run = first.start("slowly")
    port.until_done("command-0")
    second = port.open("two")
    first.kill()
    killed_at, before = time.monotonic(), port.effects.read_text()
    while port.effects.read_text() == before:
        wait(0.02)
    assert time.monotonic() - killed_at < TAKEN_OVER_WITHIN
    port.must_be_whole(second, run)


@pytest.mark.serial
def test_nothing_of_a_worker_happens_that_stood_still_and_goes_on(port: Port) -> None:
    first = port.open("one")
    run = first.start("stand still")
    port.until_done("command-0")
    while not sleepers():
        wait(0.02)
    first.process.send_signal(signal.SIGSTOP)
    stopped_at = time.monotonic()
    second = port.open("two")
    while sleepers():
        wait(0.02)
    assert time.monotonic() - stopped_at < 4.5, "its box went on without its lease"
    wait(max(0.0, stopped_at + 10 - time.monotonic()))
    first.process.send_signal(signal.SIGCONT)
    port.must_be_whole(second, run)
    port.must_be_whole(first, run)
    again = first.start()
    assert first.until_ended(again)["status"] == "completed"


@pytest.mark.parametrize("count", [5, pytest.param(20, marks=pytest.mark.long)])
def test_two_workers_share_runs_and_one_of_them_is_killed(port: Port, count: int) -> None:
    first, second = port.open("one"), port.open("two")
    runs = [first.start("slowly") for _ in range(count)]
    port.until_done("command-1")
    first.kill()
    for run in runs:
        shown = second.until_ended(run)
        assert shown["status"] == "completed", shown


def test_a_run_that_a_door_took_in_is_carried_and_steered_in_another_process(port: Port) -> None:
    door, worker = port.open("door", "api"), port.open("worker", "worker")
    assert worker.client.get("/v1/runs").status_code == 404
    run = door.start("slowly")
    port.until_done("command-0")
    assert door.client.post(f"/v1/runs/{run}/pause").json()["changed"]
    while "run_paused" not in door.client.get(f"/v1/runs/{run}/events?kind=run_paused").text:
        wait(0.02)
    assert door.client.post(f"/v1/runs/{run}/resume").json()["changed"]
    began = time.monotonic()
    port.must_be_whole(door, run)
    assert time.monotonic() - began < 20


def sleepers() -> list[int]:
    """Processes, in whatever box, of the command that stands still."""
    found = []
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and Path(f"/proc/{name}/cmdline").read_bytes() == b"sleep\x0027.27\x00":
                found.append(int(name))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found
