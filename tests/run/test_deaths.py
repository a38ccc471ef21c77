"""Servers that are killed: every run that was accepted ends once, whatever the moment."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from drydock.run.worker import MOST_PLAYS
from tests.run.lives import Life, must_be_whole, wait


@pytest.fixture
def effects(tmp_path: Path) -> Path:
    return tmp_path / "effects"


def die_at_write_and_go_on(data: Path, effects: Path, number: int, database: str) -> None:
    effects.touch()
    with Life(data, effects, "--database", database, "--die-at", str(number)) as first:
        run = first.start()
        first.until_dead()
    with Life(data, effects, "--database", database) as second:
        must_be_whole(run, second.until_ended(run), effects, data, database)


@pytest.mark.parametrize("number", [8])
def test_a_server_that_dies_between_two_writes_loses_and_doubles_nothing(
    tmp_path: Path, effects: Path, number: int, database: str
) -> None:
    die_at_write_and_go_on(tmp_path / "data", effects, number, database)


@pytest.mark.long
@pytest.mark.parametrize("number", range(1, 31))
def test_a_server_that_dies_at_any_write_loses_and_doubles_nothing(
    tmp_path: Path, effects: Path, number: int, database: str
) -> None:
    die_at_write_and_go_on(tmp_path / "data", effects, number, database)


@pytest.mark.long
def test_runs_survive_a_server_that_is_killed_again_and_again(tmp_path: Path, effects: Path) -> None:
    chance = random.Random(4)
    data = tmp_path / "data"
    effects.touch()
    with Life(data, effects) as life:
        run = life.start("slowly")
        wait(chance.uniform(0.3, 1.5))
        life.kill()
    for _ in range(2):
        with Life(data, effects) as life:
            wait(chance.uniform(0.3, 2.0))
            life.kill()
    with Life(data, effects) as life:
        must_be_whole(run, life.until_ended(run), effects, data)


@pytest.mark.serial
def test_a_restarted_server_goes_on_with_its_runs_within_five_seconds(tmp_path: Path, effects: Path) -> None:
    data = tmp_path / "data"
    effects.touch()
    with Life(data, effects) as life:
        run = life.start("slowly")
        while "command-1" not in effects.read_text():
            wait(0.02)
        life.kill()
    before = effects.read_text()
    with Life(data, effects) as life:
        while effects.read_text() == before:
            wait(0.02)
        assert time.monotonic() - life.healthy_at < 5
        must_be_whole(run, life.until_ended(run), effects, data)


def test_a_server_that_is_told_to_stop_leaves_its_runs_to_the_next_one(tmp_path: Path, effects: Path) -> None:
    data = tmp_path / "data"
    effects.touch()
    with Life(data, effects) as life:
        run = life.start("slowly")
        while "command-1" not in effects.read_text():
            wait(0.02)
    assert life.process.returncode == 0
    with Life(data, effects) as life:
        must_be_whole(run, life.until_ended(run), effects, data)


@pytest.mark.long
def test_a_run_that_kills_its_server_each_time_is_not_played_for_ever(tmp_path: Path, effects: Path) -> None:
    data = tmp_path / "data"
    effects.touch()
    with Life(data, effects) as life:
        run = life.start("fatal")
        life.until_dead()
    for _ in range(MOST_PLAYS - 1):
        with Life(data, effects) as life:
            life.until_dead()
    with Life(data, effects) as life:
        shown = life.until_ended(run)
        assert (shown["status"], shown["error"]["type"]) == ("failed", "unknown_error")
        assert shown["error"]["message"] == f"the server has died {MOST_PLAYS} times in the same step: turn-0"
        assert life.until_ended(life.start())["status"] == "completed"
    assert effects.read_text().count("turn-0\n") == MOST_PLAYS + 1
