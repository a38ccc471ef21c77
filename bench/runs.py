"""What carrying runs costs the server: a step, an event's way to its readers, parked runs, many stored ones."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx

from bench.figure import Figure
from drydock.run.spec import Spec
from drydock.store.database import connect
from drydock.store.migrations import migrate
from drydock.store.run import Run
from drydock.store.runs import Runs

READERS = 200
PARKED = 500
STORED = 10_000
WATCHED_S = 12.0
PARKS_WITHIN_S = 40.0
"""A paused run is parked when its turn in the queue comes: eight at once, twice a second."""
CALLS = 60


def measure() -> Iterator[Figure]:
    with _server() as dock:
        yield _step(dock)
        yield _readers(dock)
    with _server() as dock:
        yield _parked(dock)
    yield from _stored()


@dataclass(frozen=True)
class Dock:
    url: str
    pid: int

    def call(self, method: str, path: str, body: Any = None) -> Any:
        reply = httpx.request(method, self.url + path, json=body, timeout=60)
        reply.raise_for_status()
        return reply.json()


@contextmanager
def _server(data: Path | None = None) -> Iterator[Dock]:
    with tempfile.TemporaryDirectory(prefix="drydock-bench-") as folder:
        command = [sys.executable, "-m", "bench.carried", str(data or Path(folder, "data"))]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            assert process.stdout is not None
            yield Dock(process.stdout.readline().split()[4], process.pid)
        finally:
            process.terminate()
            process.wait(30)


def _step(dock: Dock) -> Figure:
    run = dock.call("POST", "/v1/runs", {"task": "steps", "wait": True})
    told = json.loads(run["result"]["summary"])
    detail = {"median ms": told["median"], "worst ms": told["worst"]}
    return Figure("server time of an agent's step", told["median"], 30, "at most", "ms", detail)


def _readers(dock: Dock) -> Figure:
    """From before an event is written to when each of many readers has it."""
    run = dock.call("POST", "/v1/runs", {"task": "events"})["id"]
    command = [sys.executable, "-m", "bench.readers", dock.url, run, str(READERS)]
    late: list[float] = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    late.sort()
    p50, p99 = late[len(late) // 2], late[int(len(late) * 0.99)]
    detail = {"p50 ms": p50, "p99 ms": p99, "worst ms": late[-1], "readers": READERS, "frames": float(len(late))}
    return Figure(f"an event to {READERS} readers, p99", p99, 50, "at most", "ms", detail)


def _parked(dock: Dock) -> Figure:
    """Against the same server with its engine open, which the first run does; what that costs is told beside it."""
    asleep = _cpu_share(dock.pid)
    dock.call("POST", "/v1/runs", {"task": "x", "wait": True})
    idle = _cpu_share(dock.pid)
    for _ in range(PARKED):
        run = dock.call("POST", "/v1/runs", {"task": "x"})["id"]
        dock.call("POST", f"/v1/runs/{run}/pause", {})
    time.sleep(PARKS_WITHIN_S)
    parked = _cpu_share(dock.pid)
    still = len(dock.call("GET", "/v1/runs?status=paused&limit=100")["runs"])
    detail = {
        "before any run %": asleep,
        "after one %": idle,
        "with them %": parked,
        "of the first hundred paused": float(still),
    }
    return Figure(f"processor for {PARKED} parked runs", parked - idle, 1, "at most", "%", detail)


def _cpu_share(pid: int) -> float:
    """Percent of one processor, once it has come to rest."""
    time.sleep(5)
    before = _cpu_s(pid)
    time.sleep(WATCHED_S)
    return (_cpu_s(pid) - before) / WATCHED_S * 100


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _stored() -> Sequence[Figure]:
    """Starting and listing with many ended runs in the store, against none."""
    times: dict[int, tuple[float, float]] = {}
    for count in (0, STORED):
        with tempfile.TemporaryDirectory(prefix="drydock-bench-") as folder:
            data = Path(folder, "data")
            _fill(data, count)
            with _server(data) as dock:
                dock.call("POST", "/v1/runs", {"task": "x", "wait": True})
                starts = [_took(dock, "POST", {"task": "x"}) for _ in range(CALLS)]
                lists = [_took(dock, "GET") for _ in range(CALLS)]
                times[count] = statistics.median(starts), statistics.median(lists)
    figures = []
    for place, what in enumerate(("starting", "listing")):
        none, many = times[0][place], times[STORED][place]
        detail = {"ms with none": none, f"ms with {STORED}": many}
        figures.append(Figure(f"{what} a run with {STORED} stored", many / none, 1.5, "at most", "x", detail))
    return figures


def _took(dock: Dock, method: str, body: Any = None) -> float:
    began = time.perf_counter()
    dock.call(method, "/v1/runs", body)
    return (time.perf_counter() - began) * 1e3


def _fill(data: Path, count: int) -> None:
    database = connect("", data)
    migrate(database)
    runs = Runs(database)
    began = datetime.now(UTC) - timedelta(days=1)
    for number in range(count):
        when = began + timedelta(seconds=number)
        runs.create(
            Run(
                str(uuid.uuid4()),
                "native",
                "local",
                Spec("x").to_json(),
                when,
                when,
                status="completed",
                started_at=when,
                ended_at=when,
            )
        )
    database.close()
