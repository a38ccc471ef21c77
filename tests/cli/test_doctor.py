"""`drydock doctor` finds the walls sound where they stand, and says so loudly where they do not."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import drydock
from drydock.box.proof.attempts import ATTEMPTS
from tests.e2e.conftest import DRYDOCK, own_environment

PACKAGE = Path(drydock.__file__).parent
CHECKOUT = Path(__file__).parents[2]


def examined(tmp_path: Path, *arguments: str, **environ: str) -> tuple[int, dict[str, Any]]:
    done = subprocess.run(
        [DRYDOCK, "doctor", "--json", *arguments],
        cwd=tmp_path,
        env=own_environment() | environ,
        capture_output=True,
        text=True,
    )
    return done.returncode, json.loads(done.stdout)


@pytest.mark.long
def test_every_tier_is_proved_on_this_host_and_shown_as_a_table(tmp_path: Path) -> None:
    done = subprocess.run([DRYDOCK, "doctor"], cwd=tmp_path, env=own_environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert "Traceback" not in done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("box (as root): bubblewrap ")
    assert any(line.startswith("gvisor (as root): runsc ") for line in lines)
    assert any(line.startswith("  cannot   Held boxes") for line in lines)
    assert lines[-1] == "Every promise holds here."
    held = [line for line in lines if line.startswith("  ok ")]
    # Both walls hold against all, box against links at its mounts too; `process` promises the few that need none.
    assert len(held) >= 2 * len(ATTEMPTS) + 1 + sum(attempt.unwalled for attempt in ATTEMPTS)


def test_json_tells_each_promise_and_what_came_of_it(tmp_path: Path) -> None:
    code, told = examined(tmp_path, "--tier", "process")
    assert (code, told["sound"]) == (0, True)
    (tier,) = told["tiers"]
    assert (tier["tier"], tier["available"]) == ("process", True)
    assert {row["state"] for row in tier["promises"]} == {"holds", "not promised"}
    assert tier["lost"][0].startswith("There are no walls")


def test_what_keeps_boxes_from_being_made_is_said_with_what_to_do(tmp_path: Path) -> None:
    code, told = examined(tmp_path, DRYDOCK_PYTHON="/nowhere/python3")
    assert (code, told["sound"]) == (1, False)
    assert "/nowhere/python3" in told["tiers"][0]["missing"]
    assert told["tiers"][0]["do"]


def test_without_root_it_tells_what_is_lost_and_proves_the_rest(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    for folder in tmp_path.parents[:2]:
        folder.chmod(0o755)
    command = [sys.executable, "-m", "drydock.cli", "doctor", "--json", "--tier", "box", "--tier", "gvisor"]
    start = [sys.executable, "-m", "tests.standins.engine", json.dumps({"uid": 312_399}), *command]
    environ = own_environment() | {"TMPDIR": str(tmp_path), "HOME": str(tmp_path), "DRYDOCK_PYTHON": "/usr/bin/python3"}
    done = subprocess.run(start, cwd=CHECKOUT, env=environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    box, gvisor = json.loads(done.stdout)["tiers"]
    assert (box["root"], box["available"]) == (False, True)
    assert any("CPU is not limited" in words for words in box["lost"])
    assert [row["name"] for row in box["promises"] if row["state"] == "not promised"] == [
        "CPU time is shared out as its limit says"
    ]
    assert (gvisor["available"], gvisor["missing"]) == (
        False,
        "gVisor needs a server that runs as root, and this one does not",
    )


def knocked_out(tmp_path: Path, module: str, before: str, after: str) -> subprocess.CompletedProcess[str]:
    """The doctor of a Drydock in which one line of a defence was changed."""
    source = tmp_path / "source"
    shutil.copytree(PACKAGE, source / "drydock", ignore=shutil.ignore_patterns("__pycache__"))
    path = source / "drydock" / module
    text = path.read_text()
    assert text.count(before) == 1, "the defence has moved: mend this test"
    path.write_text(text.replace(before, after))
    return subprocess.run(
        [sys.executable, "-m", "drydock.cli", "doctor", "--json", "--tier", "box"],
        cwd=tmp_path,
        env=own_environment() | {"PYTHONPATH": str(source)},
        capture_output=True,
        text=True,
    )


KNOCKOUTS = {
    "the network namespace": (
        "box/wall.py",
        'NAMESPACES = ("pid", "net", "ipc", "uts")',
        'NAMESPACES = ("pid", "ipc", "uts")',
        "no network, not even to the host itself",
    ),
    "the read-only root": (
        "box/wall.py",
        'to = ["--unshare-" + namespace for namespace in NAMESPACES]',
        'to = [*("--unshare-" + namespace for namespace in NAMESPACES), "--bind", "/tmp", "/home"]',
        "no file of the host is seen",
    ),
    "the filter of system calls": (
        "box/inside/kernel.py",
        '        _check(_libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, where, 0, 0), "prctl(PR_SET_SECCOMP)")',
        "        where += 0",
        "no namespace of its own can be had",
    ),
    "the collector's refusal of links": (
        "box/collect.py",
        '            elif stat.S_ISLNK(kind):\n                self._skip(path, "symlink")\n',
        "            elif stat.S_ISLNK(kind):\n                self._found.files[path] = b'followed'\n",
        "no link out of the box is followed by what takes its files out",
    ),
    "the limit of memory": (
        "box/cgroup.py",
        "memory = limits.memory_bytes + limits.work_bytes",
        "memory = (16 * limits.memory_bytes) + limits.work_bytes",
        "memory ends where its limit is",
    ),
}


@pytest.mark.long
@pytest.mark.parametrize("out", KNOCKOUTS.values(), ids=KNOCKOUTS.keys())
def test_a_defence_that_is_taken_out_makes_it_red(tmp_path: Path, out: tuple[str, str, str, str]) -> None:
    module, before, after, name = out
    done = knocked_out(tmp_path, module, before, after)
    assert done.returncode == 1, done.stdout
    failed = [row["name"] for row in json.loads(done.stdout)["tiers"][0]["promises"] if row["state"] == "fails"]
    assert name in failed


def test_a_defence_that_is_taken_out_keeps_the_server_from_starting(tmp_path: Path) -> None:
    source = tmp_path / "source"
    shutil.copytree(PACKAGE, source / "drydock", ignore=shutil.ignore_patterns("__pycache__"))
    wall = source / "drydock" / "box" / "wall.py"
    wall.write_text(
        wall.read_text().replace('NAMESPACES = ("pid", "net", "ipc", "uts")', 'NAMESPACES = ("pid", "uts")')
    )
    done = subprocess.run(
        [sys.executable, "-m", "drydock.cli", "serve", "--port", "0", "--data", "data"],
        cwd=tmp_path,
        env=own_environment() | {"PYTHONPATH": str(source)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    assert "tier `box` does not hold here: not true that no network" in done.stderr
    assert "listens" not in done.stdout


def test_a_setuid_bubblewrap_is_refused(tmp_path: Path) -> None:
    """In a mount namespace of its own, where /usr/bin/bwrap is a copy with the bit set."""
    copy = tmp_path / "bwrap"
    shutil.copy("/usr/bin/bwrap", copy)
    copy.chmod(0o4755)
    assert copy.stat().st_mode & stat.S_ISUID
    script = f"mount --bind {copy} /usr/bin/bwrap && exec {DRYDOCK} doctor --json --tier box"
    done = subprocess.run(
        ["unshare", "--mount", "/bin/sh", "-c", script],
        cwd=tmp_path,
        env=own_environment() | {"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
    )
    told = json.loads(done.stdout)
    assert done.returncode == 1
    assert "is setuid root" in told["tiers"][0]["missing"]
    assert "chmod u-s" in told["tiers"][0]["do"]
