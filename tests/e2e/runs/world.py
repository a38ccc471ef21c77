"""`drydock serve` with a forge and a scripted model beside it, all over real sockets: what runs are seen through."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from tests.e2e.conftest import DRYDOCK, own_environment
from tests.standins.forge import BareRepository, Forge, git
from tests.standins.index import Index
from tests.standins.model import ModelServer, Step, ToolUse
from tests.standins.server import events_of

SOON = 60.0
SCRIPTS = 100
"""Aliases that a server is started with."""
LISTENS = re.compile(r"listens on (http://[^\s)]+)")
MODEL = "anthropic:claude-sonnet-4-6"
CHECK = "python3 -m unittest -q"
PLAN = Step(text=f"1. Mend `add` in sums.py.\n\n## Validation commands\n```sh\n{CHECK}\n```\n")
SUMS = {
    "README.md": b"# Sums\n",
    "sums.py": b"def add(a, b):\n    return a - b\n",
    "test_sums.py": b"import unittest\n\nfrom sums import add\n\n\nclass Sums(unittest.TestCase):\n"
    b"    def test_add(self):\n        self.assertEqual(add(2, 3), 5)\n",
}


def use(tool: str, **fields: Any) -> Step:
    return Step(tools=(ToolUse(tool, fields),))


READ = use("read_file", path="sums.py")
MEND = use("edit_file", path="sums.py", old="a - b", new="a + b")
FINISH = use("finish", summary="add adds.")
MENDS: Sequence[Step] = (READ, MEND, use("run_command", command=CHECK), FINISH)


def run_step(command: str) -> Step:
    return use("run_command", command=command)


class Life:
    """One process of the server over a data folder."""

    def __init__(self, world: World, data: Path, *flags: str, **variables: str) -> None:
        self.log = data.with_name(f"{data.name}.log")
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [str(DRYDOCK), "serve", "--port", "0", "--data", str(data), *flags],
                cwd=world.folder,
                env={**own_environment(), **world.variables(), **variables},
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        assert self.process.stdout is not None
        found = LISTENS.search(self.process.stdout.readline())
        assert found, self.log.read_text()
        self.client = httpx.Client(base_url=found.group(1), timeout=SOON)

    def start(self, repo: str = "acme/sums", *, token: str = "", **body: Any) -> str:
        """The id of a run that was taken in."""
        reply = self.post({"task": "Fix add", "type": "bug-fix", "repo": repo, **body}, token)
        assert reply.status_code == 202, reply.text
        return str(reply.json()["id"])

    def post(self, body: dict[str, Any], token: str = "") -> httpx.Response:
        return self.client.post("/v1/runs", json=body, headers={"X-Forge-Token": token} if token else {})

    def show(self, run: str) -> dict[str, Any]:
        shown: dict[str, Any] = self.client.get(f"/v1/runs/{run}").json()
        return shown

    def steer(self, run: str, verb: str, **body: Any) -> dict[str, Any]:
        reply = self.client.post(f"/v1/runs/{run}/{verb}", json=body)
        assert reply.status_code == 200, reply.text
        told: dict[str, Any] = reply.json()
        return told

    def until(self, run: str, kind: str) -> dict[str, Any]:
        """The data of the first event of this kind, as soon as it is told."""
        with self.client.stream("GET", f"/v1/runs/{run}/events") as reply:
            lines = reply.iter_lines()
            for line in lines:
                if line == f"event: {kind}":
                    told: dict[str, Any] = json.loads(next(lines).removeprefix("data: "))
                    return told
        raise AssertionError(f"the run has ended without {kind}: {self.kinds(run)}\n{self.log.read_text()[-3000:]}")

    def until_ended(self, run: str) -> dict[str, Any]:
        self.client.get(f"/v1/runs/{run}/events")
        return self.show(run)

    def events(self, run: str) -> list[tuple[int, str, dict[str, Any]]]:
        return events_of(self.client.get(f"/v1/runs/{run}/events").text)

    def kinds(self, run: str) -> list[str]:
        return [kind for _, kind, _ in self.events(run)]

    def patch(self, run: str) -> bytes:
        return self.client.get(f"/v1/runs/{run}/diff").content

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self.client.close()

    def close(self) -> None:
        self.client.close()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                assert self.process.wait(SOON) == 0, self.log.read_text()[-4000:]
            finally:
                self.process.kill()


@dataclass
class World:
    """What is outside of the server: a forge, models, and a folder for everything."""

    folder: Path
    forge: Forge
    model: ModelServer
    index: Index
    owned: ExitStack = field(default_factory=ExitStack)
    _numbers: int = 0

    @property
    def token(self) -> str:
        return self.forge.tokens.issue()

    def variables(self) -> dict[str, str]:
        return {
            "ANTHROPIC_API_KEY": "a-key-of-tests",
            "ANTHROPIC_BASE_URL": self.model.address("work"),
            "GITHUB_SERVER_URL": self.forge.origin,
            "DRYDOCK_GIT_HOSTS_ALLOW": self.forge.host,
            "DRYDOCK_MODEL": MODEL,
            "DRYDOCK_MODELS": json.dumps({f"work-{n}": self._alias(f"work-{n}") for n in range(1, SCRIPTS + 1)}),
            "DRYDOCK_MAX_CONCURRENT": "1",
            "DRYDOCK_MAX_RUNS": "4",
            "DRYDOCK_GIT_FOLDERS": str(self.folder / "allowed"),
            "DRYDOCK_NPM_INDEX": self.index.npm,
            "DRYDOCK_PYTHON_INDEX": self.index.pypi,
        }

    def life(self, name: str = "data", *flags: str, **variables: str) -> Life:
        made = Life(self, self.folder / name, *flags, **variables)
        self.owned.callback(made.close)
        return made

    def _alias(self, name: str) -> dict[str, Any]:
        """At an address of its own: which script is played is all in its name."""
        address = f"{self.model.address(name)}/v1"
        return {"model": "openai:scripted", "address": address, "input_price": 1, "output_price": 10}

    def script(self, *steps: Step, plan: Step = PLAN) -> dict[str, str]:
        """Fields of a run that is played this way; any number of them at once."""
        self._numbers += 1
        assert self._numbers <= SCRIPTS
        name = f"work-{self._numbers}"
        self.model.play(name, *steps, plan=plan)
        return {"model": name}

    def repository(self, name: str = "acme/sums") -> BareRepository:
        found = self.forge.repositories.get(name)
        return found or self.forge.create(name, SUMS)


def applied(bare: BareRepository, patch: bytes, folder: Path, base: str = "main") -> str:
    """The tree that a patch makes of a fresh clone."""
    git(folder, "clone", "-q", str(bare.path), "fresh")
    fresh = folder / "fresh"
    git(fresh, "checkout", "-q", base)
    if patch:
        git(fresh, "apply", "--index", "--binary", "-", stdin=patch)
    return git(fresh, "write-tree").decode().strip()


def until(so: Callable[[], bool], within: float = SOON) -> None:
    """For what no event tells of."""
    ends = time.monotonic() + within
    tick = threading.Event()
    while not so():
        assert time.monotonic() < ends, "it did not come to be so"
        tick.wait(0.05)
