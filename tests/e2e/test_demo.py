"""`drydock demo`, as a newcomer calls it: a real server, real boxes and git; the model alone is scripted."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.conftest import DRYDOCK, own_environment

IN_ORDER = [
    "plan     1. Run the tests",
    "## Validation commands",
    "$        python3 -m unittest -q",
    "AssertionError: 999 != 1001",
    "exit 1",
    "modified ledger.py",
    "Quality gate failed (0/1 checks passed).",
    "modified ledger.py",
    "Quality gate passed (1/1 checks passed).",
    "commit   ",
    "cost     7 steps, 2 commands",
    "run      completed",
    "diff --git a/ledger.py b/ledger.py",
    "+    share, left = divmod(cents, people)",
    "A ledger that loses cents",
    "nothing of it is left",
]


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    (tmp_path / "tmp").mkdir()
    return tmp_path / "tmp"


@pytest.fixture
def begin(scratch: Path) -> Callable[..., subprocess.Popen[str]]:
    def begin(*arguments: str) -> subprocess.Popen[str]:
        """None of the caller's settings is the demo's."""
        told = {
            "TMPDIR": str(scratch),
            "DRYDOCK_PORT": "none",
            "SERVER_AUTH_TOKEN": "x" * 20,
            "DRYDOCK_URL": "http://[::",
        }
        return subprocess.Popen(
            [str(DRYDOCK), "demo", *arguments],
            cwd=scratch.parent,
            env=own_environment() | told,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return begin


def left_of(scratch: Path) -> list[str]:
    """Files there, and processes that were told of the folder."""
    found = [str(path) for path in scratch.iterdir()]
    for process in Path("/proc").glob("[0-9]*"):
        try:
            told = (process / "cmdline").read_bytes() + (process / "environ").read_bytes()
        except OSError:
            continue
        if str(scratch).encode() in told and process.name != str(os.getpid()):
            found.append(told.decode("utf-8", "replace"))
    return found


@pytest.mark.serial
def test_it_shows_a_run_from_its_task_to_its_commit_and_leaves_nothing(
    begin: Callable[..., subprocess.Popen[str]], scratch: Path
) -> None:
    began = time.monotonic()
    with begin() as process:
        shown, told = process.communicate(timeout=60)
    assert (process.returncode, told) == (0, "")
    assert time.monotonic() - began < 30
    at = 0
    for text in IN_ORDER:
        assert text in shown[at:], shown
        at = shown.index(text, at) + len(text)
    assert left_of(scratch) == []


def test_programs_get_one_object(begin: Callable[..., subprocess.Popen[str]]) -> None:
    with begin("--json") as process:
        shown, told = process.communicate(timeout=60)
    assert (process.returncode, told) == (0, "")
    result = json.loads(shown)
    assert result["commit"] == result["run"]["result"]["commit"]["sha"]
    assert result["run"]["result"]["gate"]["checks"][0]["failedBefore"]
    assert result["diff"].startswith("diff --git a/ledger.py")


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_broken_off_in_the_middle_it_leaves_nothing(
    begin: Callable[..., subprocess.Popen[str]], scratch: Path, number: signal.Signals
) -> None:
    with begin() as process:
        assert process.stdout is not None
        while "exit 1" not in process.stdout.readline():
            assert process.poll() is None
        process.send_signal(number)
        process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert left_of(scratch) == []
