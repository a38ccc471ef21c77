"""A door and workers on one PostgreSQL database, with the real parts: one worker dies, another brings its run on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.e2e.runs.test_deaths import SLOW_ENOUGH, must_be_whole
from tests.e2e.runs.world import Life, World
from tests.standins.postgres import PostgreSQL


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with PostgreSQL(tmp_path_factory.mktemp("postgresql")) as server:
        yield server.new_database()


@pytest.fixture(scope="module")
def shared(world: World, database: str) -> list[str]:
    objects = world.folder / "objects"
    objects.mkdir()
    return ["--database", database, "--objects", f"file://{objects}"]


KEY = {"DRYDOCK_SECRETS_KEY": "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="}
"""Of all of them: a token that the door has sealed is opened by whoever pushes."""


def open_(world: World, shared: list[str], name: str, role: str) -> Life:
    return world.life(name, *shared, "--role", role, **KEY)


@pytest.mark.long
def test_a_run_of_a_worker_that_is_killed_is_brought_to_its_one_commit_by_another(
    world: World, shared: list[str], database: str
) -> None:
    door, first = open_(world, shared, "door", "api"), open_(world, shared, "first", "worker")
    assert first.client.get("/v1/runs").status_code == 404
    runs = [
        door.start(commit=True, token=world.token, timeout_ms=600_000, **world.script(*SLOW_ENOUGH)) for _ in range(2)
    ]
    door.until(runs[0], "command_started")
    second = open_(world, shared, "second", "worker")
    first.kill()
    for run in runs:
        must_be_whole(world, door, world.folder / "door", run, database)
    second.close()
    door.close()


@pytest.mark.long
@pytest.mark.timeout(900)
def test_two_workers_share_twenty_runs_and_one_of_them_is_killed(
    world: World, shared: list[str], database: str
) -> None:
    door = open_(world, shared, "busy-door", "api")
    first, second = (open_(world, shared, name, "worker") for name in ("busy-first", "busy-second"))
    runs = [
        door.start(commit=True, token=world.token, timeout_ms=900_000, **world.script(*SLOW_ENOUGH)) for _ in range(20)
    ]
    door.until(runs[5], "command_started")
    first.kill()
    for run in runs:
        must_be_whole(world, door, world.folder / "busy-door", run, database)
    second.close()
    door.close()
