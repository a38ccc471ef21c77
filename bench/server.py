"""The servers that are measured: started for real on a free port, ended for sure, and looked at from outside."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

DRYDOCK = Path(sys.executable).with_name("drydock")
START_WITHIN = 20.0
STOP_WITHIN = 20.0


@dataclass(frozen=True)
class Server:
    port: int
    pid: int
    folder: Path
    """Where it keeps its data and its temporary files."""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def drydock(**knobs: object) -> Iterator[Server]:
    """`drydock serve` with these settings, in a folder of its own, so that no drydock.toml of ours is read."""
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="drydock-bench-") as folder:
        environ = {key: value for key, value in os.environ.items() if not key.startswith(("DRYDOCK_", "SANDBOX_"))}
        environ |= {f"DRYDOCK_{name.upper()}": str(value) for name, value in knobs.items()}
        data, temporary = Path(folder, "data"), Path(folder, "tmp")
        temporary.mkdir()
        environ["TMPDIR"] = str(temporary)
        command = [str(DRYDOCK), "serve", "--port", str(port), "--data", str(data)]
        with _running(command, folder, environ, port) as process:
            yield Server(port, process.pid, Path(folder))


@contextmanager
def baseline() -> Iterator[Server]:
    """The naive server of baseline.py."""
    port = free_port()
    script = Path(__file__).with_name("baseline.py")
    with tempfile.TemporaryDirectory(prefix="drydock-bench-") as folder:
        command = [sys.executable, str(script), str(port)]
        with _running(command, folder, dict(os.environ), port) as process:
            yield Server(port, process.pid, Path(folder))


@contextmanager
def _running(command: list[str], folder: str, environ: dict[str, str], port: int) -> Iterator[subprocess.Popen[bytes]]:
    log = Path(folder, "log")
    with log.open("wb") as out:
        process = subprocess.Popen(command, cwd=folder, env=environ, stdout=out, stderr=out)
    try:
        _await_health(process, port, log)
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(STOP_WITHIN)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _await_health(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + START_WITHIN
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2) as reply:
                if reply.status == 200:
                    return
        except (urllib.error.URLError, OSError):
            time.sleep(0.05)
    raise RuntimeError(f"the server on port {port} did not become healthy:\n{log.read_text(errors='replace')}")


def tree(pid: int) -> list[int]:
    """The process and all that descend from it."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            # The command's name, in brackets, may itself hold spaces and brackets.
            after = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        children.setdefault(int(after[1]), []).append(int(stat.parent.name))
    found = [pid]
    for each in found:
        found += children.get(each, [])
    return found


def resident(pids: list[int]) -> float:
    """MB held, a page that several share counted once (the kernel's proportional set size)."""
    total = 0
    for pid in pids:
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total / 1024


def holdings(server: Server) -> dict[str, int]:
    """All that could be left behind, counted."""
    pids = tree(server.pid)
    return {
        "processes": len(pids),
        "descriptors": len(list(Path(f"/proc/{server.pid}/fd").iterdir())),
        "mounts": len(Path(f"/proc/{server.pid}/mounts").read_text().splitlines()),
        "cgroups": sum(len(folders) for _, folders, _ in os.walk("/sys/fs/cgroup")),
        "folders": sum(len(folders) for _, folders, _ in os.walk(server.folder)),
    }
