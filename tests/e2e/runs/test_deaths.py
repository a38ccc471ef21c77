"""A server that is killed in the middle of a run: the run ends once, with one commit, and its journal is whole."""

from __future__ import annotations

import json
import random
import threading
from collections import Counter
from pathlib import Path

import pytest

from drydock.store.database import connect
from drydock.store.journal import Journal
from tests.e2e.runs.world import CHECK, FINISH, MEND, READ, Life, World, run_step, until
from tests.standins.forge import git

SLOW_ENOUGH = (
    READ,
    run_step("sleep 0.3; echo one >> notes.txt"),
    MEND,
    run_step("sleep 0.3; echo two >> notes.txt"),
    run_step(CHECK),
    FINISH,
)
ONCE = (
    *("run_queued", "run_started", "task_started", "repo_clone_started", "repo_clone_completed", "git_branch_created"),
    *("planning_started", "planning_completed", "agent_finished", "quality_gate_completed", "diff_generated"),
    *("commit_created", "commit_push_started", "commit_pushed", "run_completed"),
)


def must_be_whole(world: World, life: Life, data: Path, run: str, database: str = "") -> None:
    shown = life.until_ended(run)
    assert shown["status"] == "completed", (shown, life.log.read_text()[-4000:])
    opened = connect(database, data)
    try:
        journal = Journal(opened, lambda run, fresh: None)
        events = list(journal.all(run))
        assert journal.broken_at(run) is None
    finally:
        opened.close()
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    count = Counter(event.type for event in events)
    assert {kind: count[kind] for kind in ONCE} == dict.fromkeys(ONCE, 1)
    assert count["command_started"] == count["command_completed"] + count["command_failed"] == 3
    bare, commit = world.repository(), shown["result"]["commit"]
    assert bare.find(commit["branch"]) == commit["sha"]
    assert git(bare.path, "rev-list", "--count", f"main..{commit['sha']}").decode().strip() == "1"
    assert bare.files(commit["sha"])["sums.py"].endswith(b"a + b\n")
    notes = bare.files(commit["sha"]).get("notes.txt", b"").split()
    assert len(notes) == len(set(notes)), "a command was run twice"
    failed = [event for event in events if event.type == "command_failed"]
    assert len(notes) + len(failed) >= 2
    assert all("interrupted" in event.data["error"] for event in failed), failed
    until(lambda: not (data / "runs" / run).exists())


def kill_and_go_on(world: World, name: str, seed: int, times: int) -> None:
    chance = random.Random(seed)
    data = world.folder / name
    life = world.life(name)
    run = life.start(commit=True, token=world.token, timeout_ms=600_000, **world.script(*SLOW_ENOUGH))
    for _ in range(times):
        threading.Event().wait(chance.uniform(0.1, 6.0))
        life.kill()
        life = world.life(name)
    must_be_whole(world, life, data, run)
    life.close()


@pytest.mark.parametrize("seed", range(5))
def test_a_server_that_is_killed_at_any_moment_loses_and_doubles_nothing(world: World, seed: int) -> None:
    kill_and_go_on(world, f"killed-{seed}", seed, 1)


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", range(100, 150))
def test_a_server_that_is_killed_at_many_moments_loses_and_doubles_nothing(world: World, seed: int) -> None:
    kill_and_go_on(world, f"killed-{seed}", seed, 2)


def test_no_credential_stands_in_what_a_run_leaves(world: World) -> None:
    life = world.life("quiet")
    token = world.token
    run = life.start(commit=True, token=token, **world.script(MEND, FINISH))
    shown = life.until_ended(run)
    life.close()
    assert shown["result"]["commit"]["pushed"]
    told = json.dumps(shown) + json.dumps(life.log.read_text())
    kept = [path.read_bytes() for path in (world.folder / "quiet").rglob("*") if path.is_file()]
    assert token not in told
    assert not [data for data in kept if token.encode() in data]
