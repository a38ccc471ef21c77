"""Layers: trees of the store that a box's head names, and nothing else of the store."""

from __future__ import annotations

from pathlib import Path

import pytest

from drydock.box.held import HeldBox
from drydock.box.limits import Limits
from drydock.box.pool import Pool
from drydock.box.program import Layer
from drydock.box.running import Outcome
from tests.box.conftest import Fleet, command, python

MINE: Layer = ("mine", "/packages")


@pytest.fixture
def store(fleet: Fleet) -> Path:
    for name, text in (("mine", "MINE = 'mine'\n"), ("theirs", "THEIRS = 'theirs'\n")):
        folder = fleet.yard.store / name
        folder.mkdir(mode=0o755)
        (folder / "module.py").write_text(text)
        (folder / "module.py").chmod(0o444)
    return fleet.yard.store


def run(fleet: Fleet, pool: Pool, code: str, *layers: Layer) -> Outcome:
    return fleet.run(pool.run(python(code, layers=layers), Limits(wall_ms=10_000)))


def test_a_box_finds_the_layer_that_its_head_names(fleet: Fleet, pool: Pool, store: Path) -> None:
    code = "import sys; sys.path.append('/packages'); import module; print(module.MINE)"
    assert run(fleet, pool, code, MINE).stdout == b"mine\n"


def test_a_layer_that_came_after_the_slot_had_begun_is_found(fleet: Fleet, pool: Pool) -> None:
    assert run(fleet, pool, "import os; print(os.listdir('/packages'))").stdout == b"[]\n"
    (fleet.yard.store / "late").mkdir(mode=0o755)
    (fleet.yard.store / "late" / "a.txt").write_text("")
    assert run(fleet, pool, "import os; print(os.listdir('/packages'))", ("late", "/packages")).stdout == b"['a.txt']\n"
    assert run(fleet, pool, "import os; print(os.listdir('/packages'))").stdout == b"[]\n", "the next box has none"


@pytest.mark.parametrize("layers", [(), (MINE,)])
def test_no_box_sees_the_store_or_where_it_is_on_the_host(
    fleet: Fleet, pool: Pool, store: Path, layers: tuple[Layer, ...]
) -> None:
    code = "import os; print(os.listdir('/store')); print(open('/proc/self/mountinfo').read())"
    names, _, mounts = run(fleet, pool, code, *layers).stdout.decode().partition("\n")
    assert names == "[]"
    assert str(store) not in mounts
    assert "theirs" not in mounts
    assert not [line for line in mounts.splitlines() if line.split()[4:5] == ["/store"]]


def test_a_layer_cannot_be_written_changed_or_unmounted(fleet: Fleet, pool: Pool, store: Path) -> None:
    code = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def refused(work):
    try:
        work()
    except OSError:
        return
    print('BREACH')
refused(lambda: open('/packages/new', 'w'))
refused(lambda: open('/packages/module.py', 'a'))
refused(lambda: os.chmod('/packages/module.py', 0o777))
refused(lambda: os.unlink('/packages/module.py'))
refused(lambda: os.rename('/packages/module.py', '/packages/other.py'))
refused(lambda: os.utime('/packages/module.py'))
for call in (lambda: libc.umount2(b'/packages', 2), lambda: libc.mount(b'', b'/packages', None, 32, None)):
    if call() == 0:
        print('BREACH')
print('HELD')
"""
    assert run(fleet, pool, code, MINE).stdout == b"HELD\n"
    assert (store / "mine" / "module.py").read_text() == "MINE = 'mine'\n"


def test_a_missing_layer_fails_closed_and_the_slot_goes_on(fleet: Fleet, pool: Pool, store: Path) -> None:
    outcome = run(fleet, pool, "print('ran without')", ("gone", "/packages"))
    assert outcome.ended.reason == "box_failed"
    assert outcome.stdout == b""
    assert outcome.ended.detail == "its packages could not be mounted"
    assert "layer_not_mounted" in fleet.said.getvalue()
    assert run(fleet, pool, "print(1)").stdout == b"1\n"


def test_a_renewed_interpreter_still_finds_layers_in_the_same_slot(fleet: Fleet, pool: Pool, store: Path) -> None:
    assert run(fleet, pool, "print(1)").stdout == b"1\n"
    fleet.run(pool.renewed())
    assert run(fleet, pool, "import os; print(os.listdir('/packages'))", MINE).stdout == b"['module.py']\n"
    assert "box_broke" not in fleet.said.getvalue()


def test_a_held_box_has_its_layers_and_not_the_store(fleet: Fleet, store: Path, tmp_path: Path) -> None:
    async def through() -> bytes:
        held = await HeldBox.open(
            fleet.yard, tmp_path / "h", Limits(), disk_bytes=16 << 20, layers=(("mine", "/tools"),)
        )
        try:
            done = await held.run(command("/bin/sh", "-c", "ls /tools /store; cat /proc/self/mountinfo"))
            return done.stdout()
        finally:
            await held.discard()

    said = fleet.run(through()).decode()
    assert said.startswith("/store:\n\n/tools:\nmodule.py\n")
    assert str(store) not in said
