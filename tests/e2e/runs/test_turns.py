"""What a run changed: turn by turn, so far, with white space left out, one file at a time."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.runs.world import CHECK, MEND, READ, SUMS, Life, World, applied, run_step, use
from tests.standins.forge import git

SPACED = use("edit_file", path="test_sums.py", old="import unittest\n", new="import unittest\n\n\n")
MORE = use("write_file", path="more.py", content="from sums import add\n\nTWO = add(1, 1)\n")
ASK = run_step("npm install")
SCRIPT = (READ, MEND, SPACED, MORE, ASK, run_step(CHECK), use("finish", summary="Done."))


@pytest.fixture(scope="module")
def waiting(world: World, life: Life) -> str:
    """A run that has changed three files and waits for a person."""
    run = life.start(token=world.token, **world.script(*SCRIPT))
    life.until(run, "command_approval_requested")
    return run


@pytest.fixture(scope="module")
def ended(life: Life, waiting: str) -> str:
    question = life.show(waiting)["waiting"]["number"]
    life.steer(waiting, f"approvals/{question}", approved=False)
    assert life.until_ended(waiting)["status"] == "completed"
    return waiting


def diff(life: Life, run: str, **query: object) -> str:
    reply = life.client.get(f"/v1/runs/{run}/diff", params={name: str(value) for name, value in query.items()})
    assert reply.status_code == 200, reply.text
    return reply.text


def test_a_run_that_goes_on_shows_what_it_has_changed_so_far(life: Life, waiting: str) -> None:
    patch = diff(life, waiting)
    assert patch.count("diff --git") == 3
    assert diff(life, waiting, path="more.py").count("diff --git") == 1


def test_its_turns_add_up_to_all_of_it(world: World, life: Life, ended: str, tmp_path: Path) -> None:
    bare = world.repository()
    git(tmp_path, "clone", "-q", str(bare.path), "fresh")
    changed = {}
    for turn in range(1, len(SCRIPT) + 1):
        patch = diff(life, ended, turn=turn)
        changed[turn] = [line.split(" b/")[1] for line in patch.splitlines() if line.startswith("diff --git")]
        if patch:
            git(tmp_path / "fresh", "apply", "--index", "-", stdin=patch.encode())
    assert changed == {1: [], 2: ["sums.py"], 3: ["test_sums.py"], 4: ["more.py"], 5: [], 6: [], 7: []}
    tree = git(tmp_path / "fresh", "write-tree").decode().strip()
    assert tree == life.show(ended)["result"]["tree"]
    (tmp_path / "whole").mkdir()
    assert applied(bare, life.patch(ended), tmp_path / "whole") == tree


def test_what_changed_in_white_space_alone_is_left_out(life: Life, ended: str) -> None:
    whole = diff(life, ended, ignore_space="true")
    assert [name for name in (*SUMS, "more.py") if f" b/{name}\n" in whole] == ["sums.py", "more.py"]
    assert diff(life, ended, turn=3, ignore_space="true") == ""
    assert diff(life, ended, turn=3) != ""


@pytest.mark.parametrize(
    ("query", "status", "where"),
    [
        ("turn=99", 404, "turn"),
        ("turn=x", 400, "turn"),
        ("ignore_space=maybe", 400, "ignore_space"),
        ("turn=2&path=more.py", 404, "path"),
    ],
)
def test_what_is_not_there_is_said_with_its_place(life: Life, ended: str, query: str, status: int, where: str) -> None:
    reply = life.client.get(f"/v1/runs/{ended}/diff?{query}")
    assert (reply.status_code, reply.json()["error"]["where"]) == (status, where)


def test_nothing_of_a_comparison_is_left_on_the_disk(world: World, life: Life, ended: str) -> None:
    diff(life, ended, turn=2)
    assert [path.name for path in (world.folder / "data" / "runs").glob("compared-*")] == []
