"""A task becomes a tested commit: the server as it is started, real git, real boxes, a scripted model over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.e2e.runs import CHECK, MENDS, SUMS, Life, World, applied
from tests.standins.forge import Forge, git
from tests.standins.model import ModelServer

ORDER = [
    *("run_queued", "run_started", "task_started", "repo_clone_started", "repo_clone_completed", "git_branch_created"),
    *("repo_context_collected", "prompt_strategy_selected", "planning_started", "planning_completed"),
    *("command_batch_ready", "agent_step_started", "agent_turn", "agent_decision", "file_read"),
    *("agent_step_started", "agent_turn", "agent_decision", "file_changed"),
    *("agent_step_started", "agent_turn", "agent_decision", "command_started", "command_completed"),
    *("agent_step_started", "agent_turn", "agent_decision", "agent_finished"),
    *("quality_gate_commands_selected", "quality_gate_started", "quality_gate_check_started"),
    *("quality_gate_check_passed", "quality_gate_completed", "story_tracker_skipped", "diff_generated"),
    *("commit_created", "commit_push_started", "commit_pushed", "run_completed"),
]
LIVE = ("command_output", "quality_gate_output")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with Forge() as forge, ModelServer() as model, ExitStack() as owned:
        made = World(tmp_path_factory.mktemp("runs"), forge, model, owned)
        made.repository()
        yield made


@pytest.fixture(scope="module")
def life(world: World) -> Life:
    (world.folder / "allowed").mkdir()
    return world.life(DRYDOCK_GIT_FOLDERS=str(world.folder / "allowed"))


def test_a_task_becomes_a_tested_commit_on_a_new_branch(world: World, life: Life, tmp_path: Path) -> None:
    run = life.start(commit=True, token=world.token, **world.script(*MENDS))
    shown = life.until_ended(run)
    assert shown["status"] == "completed", shown
    assert [kind for kind in life.kinds(run) if kind not in LIVE] == ORDER
    result = shown["result"]
    [check] = result["gate"]["checks"]
    assert (check["command"], check["passed"], check["failedBefore"]) == (CHECK, True, True)
    bare = world.repository()
    sha = bare.find(f"drydock/run-{run}")
    made = {"sha": sha, "branch": f"drydock/run-{run}", "pushed": True, "message": "fix: Fix add"}
    assert made.items() <= result["commit"].items()
    assert git(bare.path, "rev-parse", f"{sha}^").decode().strip() == bare.find("main")
    tree = git(bare.path, "rev-parse", f"{sha}^{{tree}}").decode().strip()
    assert tree == result["tree"] == applied(bare, life.patch(run), tmp_path)
    assert bare.files(sha) == {**SUMS, "sums.py": b"def add(a, b):\n    return a + b\n"}
    assert f"$ {CHECK}\nexit_code=0" in result["logs"]
    assert f"$ [quality-gate] {CHECK}" in result["logs"]
