"""The attacks once more, against the image in a container, as an uid that nobody has heard of."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.attacks.arena import Drydock
from tests.attacks.families import ROWS
from tests.attacks.play import play, play_twin
from tests.attacks.row import Row
from tests.attacks.test_without_root import LOST
from tests.image.podman import Podman, Run

LANGUAGES = ("python", "shell")
"""That the image has."""
pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def dock(podman: Podman, image: str) -> Iterator[Drydock]:
    yield from contained(podman, image, 387_655)


@pytest.fixture(scope="module")
def single(podman: Podman, image: str) -> Iterator[Drydock]:
    yield from contained(podman, image, 387_656, max_concurrent=1)


def contained(podman: Podman, image: str, uid: int, max_concurrent: int = 3) -> Iterator[Drydock]:
    with tempfile.TemporaryDirectory(prefix="drydock-contained-") as made:
        folder = Path(made)
        os.chmod(folder, 0o755)
        arena = Drydock(folder, launch=Run(podman, image, uid, folder), max_concurrent=max_concurrent)
        try:
            yield arena
        finally:
            arena.close()


HELD = [row for row in ROWS if row.name not in LOST and row.language in LANGUAGES]


@pytest.mark.parametrize("row", HELD, ids=lambda row: row.id)
def test_the_attack_fails_in_a_container(row: Row, dock: Drydock, request: pytest.FixtureRequest) -> None:
    arena: Drydock = request.getfixturevalue("single") if row.single else dock
    play_twin(arena, row)
    play(arena, row)
