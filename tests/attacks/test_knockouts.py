"""Drydock without one of its defences: the rows that aim at it must fail, or they would not notice its loss either."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.attacks.arena import Drydock
from tests.attacks.families import BY_NAME
from tests.attacks.knockouts import KNOCKOUTS, UIDS, Knockout, copy_without
from tests.attacks.package_knockouts import PACKAGE_KNOCKOUTS
from tests.attacks.play import play, play_twin, request

pytestmark = pytest.mark.long
ALL = (*KNOCKOUTS, *PACKAGE_KNOCKOUTS)


@pytest.fixture
def weakened(defence: Knockout, tmp_path: Path) -> Iterator[Drydock]:
    """With one place when a row wants to come back to the one that it attacked."""
    single = any(BY_NAME[name].single for name in defence.noticed_by)
    arena = Drydock(tmp_path / "attacked", copy_without(defence, tmp_path), max_concurrent=1 if single else 3)
    try:
        yield arena
    finally:
        arena.planted.close()
        try:
            arena.server.stop()
        except subprocess.TimeoutExpired:
            arena.server.close()


def marks(defence: Knockout) -> list[pytest.MarkDecorator]:
    return [pytest.mark.serial] if any(BY_NAME[name].greedy for name in defence.noticed_by) else []


@pytest.mark.parametrize("defence", [pytest.param(each, id=each.name, marks=marks(each)) for each in ALL])
def test_the_rows_notice_that_it_is_gone(defence: Knockout, weakened: Drydock) -> None:
    for name in defence.noticed_by:
        row = BY_NAME[name]
        play_twin(weakened, row)
        with pytest.raises(AssertionError):
            play(weakened, row)


@pytest.mark.parametrize("defence", [pytest.param(each, id=each.name) for each in UIDS])
def test_the_look_from_outside_notices_that_it_is_gone(defence: Knockout, weakened: Drydock) -> None:
    with pytest.raises(AssertionError):
        weakened.assert_uids_of_their_own()


def test_the_look_at_the_interpreter_sees_poison(tmp_path: Path) -> None:
    """No edit makes two programs share an interpreter, so here one is both: the poisoner, and who comes after."""
    row = BY_NAME["the interpreter poisoned for whoever comes next"]
    poison, _, _ = row.attack.partition('os.write(1, b"HELD")')
    arena = Drydock(tmp_path / "attacked", max_concurrent=1)
    try:
        clean = arena.execute(request(arena, row, row.later)).body["stdout"]
        poisoned = arena.execute(request(arena, row, poison + row.later)).body["stdout"]
    finally:
        arena.close()
    assert clean.count("\n") > 5
    assert len(poisoned.splitlines()) == len(clean.splitlines())
    assert poisoned != clean
