"""Every attack against Drydock, each beside its harmless twin."""

from __future__ import annotations

import pytest

from tests.attacks.arena import Drydock
from tests.attacks.families import ROWS
from tests.attacks.play import play, play_twin
from tests.attacks.row import Row

TIGHT = [pytest.param(row, id=row.id, marks=[pytest.mark.serial] if row.tight else []) for row in ROWS]
SLICE = {
    "becoming root of a user namespace of its own",
    "ptrace and reading the memory of another process",
    "writing anywhere but to its own folders",
    "a daemon that has left its session twice",
    "a child that holds stdout while its parent sleeps past the limit",
    "results forged on every descriptor",
    "ten thousand files",
    "a build script that takes the server's secrets and the host's files",
}
"""Of the rows, those that are played on gVisor each time; the others are slow proofs there."""
SECOND_KERNEL = [
    pytest.param(
        row,
        id=row.id,
        marks=[*([pytest.mark.serial] if row.tight else []), *([] if row.name in SLICE else [pytest.mark.long])],
    )
    for row in ROWS
    if not row.shared_kernel
]


@pytest.mark.parametrize("row", TIGHT)
def test_the_attack_fails_and_leaves_nothing(row: Row, dock: Drydock, request: pytest.FixtureRequest) -> None:
    arena: Drydock = request.getfixturevalue("single") if row.single else dock
    play_twin(arena, row)
    play(arena, row)


def test_every_place_has_a_uid_of_its_own_on_the_host(dock: Drydock) -> None:
    dock.assert_uids_of_their_own()


@pytest.mark.parametrize("row", SECOND_KERNEL)
def test_the_attack_fails_behind_a_second_kernel_too(row: Row, second_kernel: Drydock) -> None:
    play_twin(second_kernel, row)
    play(second_kernel, row)


def test_no_two_rows_have_one_name() -> None:
    assert len({row.name for row in ROWS}) == len(ROWS)
