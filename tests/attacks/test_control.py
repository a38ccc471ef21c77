"""Every row against a server that walls nothing in: there each attack must work, or it proves nothing about Drydock."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.attacks.arena import BareServer
from tests.attacks.families import ROWS
from tests.attacks.play import play, play_twin
from tests.attacks.row import Row

pytestmark = pytest.mark.long


@pytest.fixture
def bare(tmp_path: Path) -> Iterator[BareServer]:
    """A new one for each row: what an attack leaves there must not be what the next one succeeds by."""
    arena = BareServer(tmp_path / "bare")
    try:
        yield arena
    finally:
        arena.close()


AIMED = [
    pytest.param(row, id=row.id, marks=[pytest.mark.serial] if row.greedy else []) for row in ROWS if not row.machinery
]


@pytest.mark.parametrize("row", AIMED)
def test_the_attack_works_where_there_are_no_walls(row: Row, bare: BareServer) -> None:
    play_twin(bare, row)
    with pytest.raises(AssertionError):
        play(bare, row)
