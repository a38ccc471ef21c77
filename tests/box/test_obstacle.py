"""What the start says when no box can be made: refusals of the real kernel, as container engines bring them about."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from drydock.box.obstacle import APPARMOR, FOOTING, PROC, SECCOMP, WHAT, Around, explain
from tests.standins.engine import CHECKOUT

UID = 312_346
PYTHON = "/usr/bin/python3"
SERVE = (str(Path(sys.executable).with_name("drydock")), "serve", "--only", "code", "--port", "0", "--python", PYTHON)


def under(order: dict[str, Any], *command: str) -> subprocess.CompletedProcess[str]:
    engine = [sys.executable, "-m", "tests.standins.engine", json.dumps(order), *command]
    return subprocess.run(engine, cwd=CHECKOUT, capture_output=True, text=True, timeout=60)


def footing(**order: Any) -> dict[str, Any]:
    done = under({"uid": UID, **order}, PYTHON, "-I", "-S", str(FOOTING))
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def profile_without(folder: Path, *calls: str) -> str:
    profile = json.loads((CHECKOUT / "deploy/seccomp.json").read_text())
    for rule in profile["syscalls"]:
        if rule["action"] == "SCMP_ACT_ALLOW":
            rule["names"] = [name for name in rule["names"] if name not in calls]
        else:
            rule["names"] += calls
    path = folder / "profile.json"
    path.write_text(json.dumps(profile))
    return str(path)


@pytest.fixture
def open_path() -> Iterator[Path]:
    """A folder that other users can walk to, unlike pytest's."""
    with tempfile.TemporaryDirectory(prefix="drydock-obstacle-") as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


def refused_start(folder: Path, **order: Any) -> str:
    data = folder / "data"
    data.mkdir()
    os.chown(data, order.get("uid", UID), 0)
    done = under({"uid": UID, **order}, *SERVE, "--data", str(data))
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr.partition("drydock: ")[2]


def test_nothing_is_in_the_way_of_a_user_without_rights_nor_under_our_own_profile() -> None:
    assert footing() == {}
    assert footing(profile="deploy/seccomp.json") == {}


@pytest.mark.parametrize(
    ("call", "step"),
    [
        ("unshare", "user"),
        ("sethostname", "namespaces"),
        ("mount", "mount"),
        ("setns", "enter"),
        ("fsopen", "layer"),
        ("pivot_root", "root"),
    ],
)
def test_a_call_that_a_filter_refuses_is_found_by_its_step(call: str, step: str, tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    assert footing(profile=profile_without(tmp_path, call)) == {"step": step, "errno": errno.EPERM}


def test_a_masked_proc_is_found() -> None:
    assert footing(masked=True) == {"step": "proc", "errno": errno.EPERM}


def test_a_start_under_a_filter_that_forbids_boxes_names_the_flag_that_is_missing(open_path: Path) -> None:
    said = refused_start(open_path, profile=profile_without(open_path, "sethostname"))
    assert "system call filter" in said
    assert SECCOMP in said
    assert PROC not in said


def test_a_start_with_a_masked_proc_names_the_flag_that_is_missing(open_path: Path) -> None:
    said = refused_start(open_path, masked=True)
    assert "masked" in said
    assert PROC in said


def test_both_flags_are_named_where_both_are_missing(open_path: Path) -> None:
    said = refused_start(open_path, masked=True, profile=profile_without(open_path, "unshare"))
    assert SECCOMP in said
    assert PROC in said


def test_root_that_cannot_give_boxes_a_uid_is_refused_rather_than_used(open_path: Path) -> None:
    sys_admin, setuid = 21, 7
    said = refused_start(open_path, uid=0, without=[sys_admin, setuid])
    assert "uid 0 without CAP_SETUID and CAP_SYS_ADMIN" in said
    assert "--cap-add SETUID --cap-add SYS_ADMIN" in said


@pytest.mark.parametrize(
    ("step", "code", "around", "remedy"),
    [
        ("mount", errno.EACCES, Around(filtered=True, confined=True), APPARMOR),
        ("mount", errno.EPERM, Around(filtered=False, confined=True), APPARMOR),
        ("mount", errno.EPERM, Around(filtered=True, confined=True), SECCOMP),
        ("user", errno.ENOSPC, Around(False, False, sysctls=("sysctl -w a=1",)), "sysctl -w a=1"),
        ("uid", errno.EPERM, Around(False, False, sysctls=("sysctl -w b=0",)), "sysctl -w b=0"),
        ("user", errno.EPERM, Around(False, False), "user namespaces"),
    ],
)
def test_what_refuses_is_told_by_what_is_in_force(step: str, code: int, around: Around, remedy: str) -> None:
    assert remedy in explain(step, code, around)[1]


def test_settings_of_the_host_that_forbid_are_read(tmp_path: Path) -> None:
    (tmp_path / "self").mkdir()
    (tmp_path / "self" / "status").write_text("Name:\tx\nSeccomp:\t0\n")
    (tmp_path / "sys" / "user").mkdir(parents=True)
    (tmp_path / "sys" / "user" / "max_user_namespaces").write_text("0\n")
    assert Around.look(tmp_path).sysctls == ("sysctl -w user.max_user_namespaces=15000",)


def test_every_step_has_its_words() -> None:
    from drydock.box.footing import STEPS

    assert [step.__name__ for step in STEPS] == list(WHAT)
