"""`drydock serve` as its users start it: a process of its own, real boxes, real HTTP, and looked at from outside."""

from __future__ import annotations

import hashlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

import httpx

DRYDOCK = Path(sys.executable).with_name("drydock")
CHECKOUT = Path(__file__).parents[2]
LISTENS = re.compile(r"listens on http://([0-9.]+):([0-9]+)")
START_WITHIN = 30.0
STEADY = 5
"""Looks that have to show the same processes; each takes longer than the making of a box."""
LOWEST_BOX_UID = 300_000
PER_SLOT = 4
"""bubblewrap, the zygote, the sleeper, the parked box."""


class Launch(Protocol):
    """Another way of starting the server than as a program of ours."""

    @property
    def uid(self) -> int:
        """Whom it and its boxes run as."""
        ...

    def command(self, serve: Sequence[str], environ: Mapping[str, str]) -> list[str]:
        """What to start instead; arguments of the server can be added at its end."""
        ...


class Started:
    def __init__(
        self,
        folder: Path,
        environ: Mapping[str, str] | None = None,
        source: Path | None = None,
        data: Path | None = None,
        launch: Launch | None = None,
        **settings: Any,
    ) -> None:
        """`source` is another copy of the package's folder; settings become DRYDOCK_ variables."""
        self.folder = folder
        self.data = data or folder / "data"
        self.log = folder / "log"
        folder.mkdir(parents=True, exist_ok=True)
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(("DRYDOCK_", "SANDBOX_", "SERVER_"))}
        told = {f"DRYDOCK_{name.upper()}": str(value) for name, value in settings.items()}
        told |= environ or {}
        command = [str(DRYDOCK), "serve"]
        if source is not None:
            inherited["PYTHONPATH"] = str(source)
            command = [sys.executable, "-c", "from drydock.cli import main; main()", "serve"]
        if launch is not None:
            inherited["PYTHONPATH"] = str(CHECKOUT)
            command = launch.command(command, told)
        command += ["--port", "0", "--data", str(self.data)]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command,
                cwd=folder,
                env=inherited | told,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        token = (environ or {}).get("SERVER_AUTH_TOKEN")
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}
        try:
            self.host, self.port = self._await_words()
        except BaseException:
            self.process.kill()
            self.process.wait()
            raise
        self.url = f"http://{self.host}:{self.port}"
        self.client = httpx.Client(base_url=self.url, timeout=60, headers=self.headers)
        name = "drydock-" + hashlib.sha256(os.fsencode(self.data.resolve())).hexdigest()[:12]
        self._groups = [*Path("/sys/fs/cgroup").glob(f"*/{name}"), Path("/sys/fs/cgroup", name)]
        self.uids: set[int] = set() if launch is None else {launch.uid}
        self.uids |= {uid for pid in self.box_processes() if (uid := uid_of(pid)) is not None}

    def _await_words(self) -> tuple[str, int]:
        """The line that it prints once it listens; the end of its output when it could not."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if found := LISTENS.search(line):
                return found[1], int(found[2])
        self.process.wait(START_WITHIN)
        raise AssertionError(f"the server ended with {self.process.returncode}:\n{self.said()}")

    def said(self) -> str:
        return self.log.read_text(errors="replace")[-20_000:]

    def post(self, path: str, body: Any, **headers: str) -> httpx.Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if isinstance(body, bytes):
            return self.client.post(path, content=body, headers=named)
        return self.client.post(path, json=body, headers=named)

    def get(self, path: str, **headers: str) -> httpx.Response:
        return self.client.get(path, headers={name.replace("_", "-"): value for name, value in headers.items()})

    def run(self, code: str, **fields: Any) -> dict[str, Any]:
        """The reply's object of an execution by the code contract."""
        reply = self.post("/code/execute", {"code": code, **fields})
        assert reply.status_code == 200, reply.text
        return dict(reply.json())

    def load(self) -> int:
        return int(self.get("/code/health").json()["current_load"])

    def await_load(self, load: int, within: float) -> None:
        """Asking is the waiting: each look is a request."""
        give_up = time.monotonic() + within
        while (now := self.load()) != load:
            assert time.monotonic() < give_up, f"load is {now}, not {load}, after {within} s"

    def groups(self) -> list[Path]:
        """Its control groups, one in each hierarchy."""
        return [group for group in self._groups if group.exists()]

    def box_processes(self) -> set[int]:
        """Every process in this server's control groups, and every other one that has a uid of its boxes."""
        found: set[int] = set()
        for group in self._groups:
            for procs in group.rglob("cgroup.procs"):
                try:
                    found |= {int(line) for line in procs.read_text().split()}
                except OSError:
                    continue  # the group was removed since it was listed
        return found | {pid for pid in all_pids() if uid_of(pid) in self.uids}

    def await_idle_processes(self, idle: int, within: float = 1.0) -> None:
        """Just as many as when nobody has come yet, and the same for several looks: while the next box is being made
        there are fewer, and a survivor would make up the number."""
        give_up = time.monotonic() + within
        seen: set[int] = set()
        looks = 0
        while looks < STEADY:
            alive = self.box_processes()
            looks = looks + 1 if alive == seen and len(alive) == idle else 0
            seen = alive
            assert len(alive) <= idle or time.monotonic() < give_up, f"survivors: {describe(alive)}"
            assert time.monotonic() < give_up + START_WITHIN, f"boxes come and go without end: {describe(alive)}"
            self.load()

    def stop(self, within: float = 15.0) -> int:
        """SIGTERM and its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(within)
        finally:
            self.close()

    def close(self) -> None:
        self.client.close()
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()

    def __enter__(self) -> Started:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            code = self.stop()
            assert code == 0 or kind is not None, f"the server ended with {code}:\n{self.said()}"
        self.close()


def all_pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def uid_of(pid: int) -> int | None:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return None
    if "State:\tZ" in status:
        return None  # dead: only its parent has not looked yet
    return int(status.partition("\nUid:")[2].split()[0])


def describe(pids: set[int]) -> str:
    lines = []
    for pid in sorted(pids):
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        lines.append(f"{pid} (uid {uid_of(pid)}): {words[:80]}")
    return "; ".join(lines)
