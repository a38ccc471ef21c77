"""The attacks against a server that an unprivileged user runs, under the profile that container engines get from us."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.attacks.arena import Drydock
from tests.attacks.families import ROWS
from tests.attacks.play import play, play_twin
from tests.attacks.row import Row
from tests.standins.engine import Contained
from tests.standins.index import Index
from tests.standins.wheels import wheel

LOST = {
    "memory shared out among processes, each of which is modest": "Memory and processes",
    "memory in files that have no name": "Memory and processes",
    "memory in System V segments": "Memory and processes",
    "memory in the buffers of connections to itself": "Memory and processes",
    "two processors instead of one": "CPU is not limited",
    "every pipe page that its uid may have": "pipe buffers",
    "every inotify instance that its uid may have": "inotify instances",
}
"""What works without root and a control group, and the words with which the start and /health say so."""
UID = 312_341 + 10 * int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:])
"""Of the first server here. Without root a server has its boxes' uid, by which its processes are told from others."""
SLOW = ("resources", "kill", "packages")
HELD = [
    pytest.param(
        row,
        id=row.id,
        marks=[pytest.mark.serial] * row.tight + [pytest.mark.long] * (row.family in SLOW),
    )
    for row in ROWS
    if row.name not in LOST
]


@pytest.fixture(scope="module")
def dock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Drydock]:
    arena = Drydock(tmp_path_factory.mktemp("unprivileged"), launch=Contained(UID))
    try:
        yield arena
    finally:
        arena.close()


@pytest.fixture(scope="module")
def single(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Drydock]:
    arena = Drydock(tmp_path_factory.mktemp("unprivileged-single"), launch=Contained(UID + 1), max_concurrent=1)
    try:
        yield arena
    finally:
        arena.close()


@pytest.mark.parametrize("row", HELD)
def test_the_attack_fails_without_root(row: Row, dock: Drydock, request: pytest.FixtureRequest) -> None:
    arena: Drydock = request.getfixturevalue("single") if row.single else dock
    play_twin(arena, row)
    play(arena, row)


def test_what_is_lost_without_root_is_said(dock: Drydock) -> None:
    assert set(LOST) <= {row.name for row in ROWS}
    said = str(dock.server.get("/health").json())
    assert not [words for words in LOST.values() if words not in said]


def test_packages_are_installed_without_root_and_with_few_open_files(tmp_path_factory: pytest.TempPathFactory) -> None:
    """As an engine's own limits have it; a box cannot be given more than the server has."""
    folder = tmp_path_factory.mktemp("shop")
    with Index() as index:
        index.publish(wheel("alpha", "1.5"))
        arena = Drydock(folder, launch=Contained(UID + 2, open_files=1024), python_index=index.pypi)
        try:
            said = arena.server.run("import alpha; print(alpha.__version__)", requirements=["alpha"])
        finally:
            arena.close()
    assert (said["status"], said["stdout"]) == ("success", "1.5\n"), said
