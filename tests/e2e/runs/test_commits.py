"""A task becomes a tested commit: the server as it is started, real git, real boxes, a scripted model over HTTP."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.runs.world import CHECK, FINISH, MEND, MENDS, READ, SUMS, Life, World, applied, run_step, until, use
from tests.standins.forge import git
from tests.standins.model import Step

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


def test_without_a_credential_the_commit_is_made_and_not_pushed(world: World, life: Life) -> None:
    run = life.start(commit=True, new_branch="mended", **world.script(*MENDS))
    commit = life.until_ended(run)["result"]["commit"]
    assert (commit["branch"], commit["pushed"]) == ("mended", False)
    assert "mended" not in world.repository().branches()
    assert life.kinds(run)[-2:] == ["commit_created", "run_completed"]


def test_a_folder_that_is_allowed_is_cloned_and_never_written_to(world: World, life: Life, tmp_path: Path) -> None:
    bare = world.repository()
    folder = world.folder / "allowed" / "sums"
    git(world.folder, "clone", "-q", str(bare.path), str(folder))
    before = git(folder, "show-ref")
    shown = life.until_ended(life.start(str(folder), commit=True, token=world.token, **world.script(*MENDS)))
    assert shown["status"] == "completed", shown
    assert shown["result"]["commit"]["pushed"] is False
    assert git(folder, "show-ref") == before
    assert git(folder, "status", "--porcelain") == b""
    assert applied(bare, life.patch(shown["id"]), tmp_path) == shown["result"]["tree"]


def test_every_kind_of_change_comes_back_as_it_is(world: World, life: Life, tmp_path: Path) -> None:
    files = {**SUMS, "old name.txt": b"kept as it is\n" * 20, "gone.txt": b"x\n", "run.sh": b"#!/bin/sh\n"}
    bare = world.forge.create("acme/kinds", {**files, "latin.txt": b"caf\xe9\n"})
    script = (
        "import os\nos.rename('old name.txt', 'new n\u00e4me.txt')\nos.remove('gone.txt')\nos.chmod('run.sh', 0o755)\n"
        "open('image.bin', 'wb').write(bytes(range(256)))\nos.symlink('README.md', 'link')\n"
        "open('latin.txt', 'ab').write(b'na\\xefve\\n')\n"
    )
    steps = (use("run_script", code=script, language="python"), FINISH)
    shown = life.until_ended(life.start("acme/kinds", type="refactoring", **world.script(*steps)))
    assert shown["status"] == "completed", shown
    kinds = {file["path"]: file["kind"] for file in shown["result"]["changedFiles"]}
    assert kinds == {
        "gone.txt": "deleted",
        "image.bin": "added",
        "latin.txt": "modified",
        "link": "added",
        "new n\u00e4me.txt": "renamed",
        "run.sh": "modified",
    }
    assert applied(bare, life.patch(shown["id"]), tmp_path) == shown["result"]["tree"]
    kept = life.client.get(f"/v1/runs/{shown['id']}/artifacts/diff.patch").content
    assert kept == life.patch(shown["id"])
    one = life.client.get(f"/v1/runs/{shown['id']}/diff", params={"path": "gone.txt"}).text
    assert one.startswith("diff --git a/gone.txt b/gone.txt\ndeleted file")


def test_a_gate_that_fails_goes_back_to_the_agent(world: World, life: Life) -> None:
    wrong = use("edit_file", path="sums.py", old="a - b", new="a * b")
    steps = (wrong, FINISH, use("edit_file", path="sums.py", old="a * b", new="a + b"), FINISH)
    run = life.start(commit=True, token=world.token, **world.script(*steps))
    shown = life.until_ended(run)
    assert shown["result"]["gate"]["passed"], shown
    told = [data["message"] for _, kind, data in life.events(run) if kind == "quality_gate_completed"]
    assert told == [f"Quality gate {how} checks passed)." for how in ("failed (0/1", "passed (1/1")]
    assert world.repository().files(shown["result"]["commit"]["sha"])["sums.py"].endswith(b"a + b\n")


def test_a_gate_that_goes_on_failing_withholds_the_commit(world: World, life: Life) -> None:
    wrong = use("edit_file", path="sums.py", old="a - b", new="a * b")
    run = life.start(commit=True, token=world.token, repair_rounds=0, **world.script(wrong, FINISH))
    shown = life.until_ended(run)
    assert (shown["status"], shown["result"]["gate"]["passed"]) == ("completed", False)
    assert "commit" not in shown["result"]
    assert shown["result"]["summary"].endswith("Nothing was committed: the quality gate failed.")
    assert life.kinds(run)[-2:] == ["commit_skipped", "run_completed"]


def test_a_failure_that_was_there_before_does_not_count(world: World, life: Life) -> None:
    files = {**SUMS, "sums.py": b"def add(a, b):\n    return a + b\n", "test_else.py": b"raise ValueError\n"}
    world.forge.create("acme/broken", files)
    plan = Step(
        text="## Validation commands\n```sh\npython3 -m unittest -q test_sums\npython3 test_else.py test\n```\n"
    )
    wrong = use("edit_file", path="sums.py", old="a + b", new="a - b")
    shown = life.until_ended(
        life.start("acme/broken", type="refactoring", repair_rounds=0, **world.script(wrong, FINISH, plan=plan))
    )
    checks = shown["result"]["gate"]["checks"]
    assert [(check["passed"], check["failedBefore"]) for check in checks] == [(False, False), (False, True)]
    assert shown["result"]["gate"]["summary"].startswith("Quality gate failed (0/1 checks passed). 1 that fails")


def test_what_changed_after_the_checks_is_not_delivered(world: World, life: Life) -> None:
    """A program that the agent left running writes once it sees that the checks are under way."""
    late = "import time\nwhile True:\n    time.sleep(0.05)\n    open('late.txt', 'a').write('x')\n"
    detach = (
        "import subprocess\n"
        "subprocess.Popen(['python3', 'late.py'], start_new_session=True, stdin=-3, stdout=-3, stderr=-3)\n"
    )
    leave = use("run_script", code=detach, language="python")
    steps = (MEND, use("write_file", path="late.py", content=late), leave)
    run = life.start(commit=True, token=world.token, **world.script(*steps, FINISH))
    shown = life.until_ended(run)
    assert shown["status"] == "completed", shown
    assert "late.txt changed after the checks had run" in shown["result"]["summary"]
    assert f"drydock/run-{run}" not in world.repository().branches()


def test_tests_and_lint_settings_that_changed_are_listed_apart(world: World, life: Life) -> None:
    steps = (
        MEND,
        use("write_file", path="ruff.toml", content="\n"),
        use("write_file", path="tests/a.py", content="\n"),
    )
    shown = life.until_ended(life.start(**world.script(*steps, FINISH)))
    assert shown["result"]["sensitivePaths"] == {"lint": ["ruff.toml"], "tests": ["tests/a.py"]}


def test_a_story_is_marked_and_goes_into_the_commit(world: World, life: Life) -> None:
    story = {"id": "S-1", "title": "Adding adds", "description": "", "priority": 1, "passes": False}
    prd = json.dumps({"project": "sums", "userStories": [story]}).encode()
    bare = world.forge.create("acme/stories", {**SUMS, "prd.json": prd})
    shown = life.until_ended(life.start("acme/stories", commit=True, token=world.token, **world.script(*MENDS)))
    files = bare.files(shown["result"]["commit"]["sha"])
    assert json.loads(files["prd.json"])["userStories"][0]["passes"] is True
    assert b"S-1 Adding adds :: PASSED" in files["progress.txt"]


def test_a_run_without_a_repository_has_an_empty_workspace(world: World, life: Life) -> None:
    steps = (use("write_file", path="hello.py", content="print('hello')\n"), run_step("git status --short"), FINISH)
    plan = Step(text="Write it.")
    shown = life.until_ended(
        life.start("", type="feature-implementation", commit=True, **world.script(*steps, plan=plan))
    )
    assert shown["status"] == "completed", shown
    assert shown["result"]["changedFiles"][0]["path"] == "hello.py"
    assert shown["result"]["commit"]["pushed"] is False
    assert "?? hello.py" in shown["result"]["logs"]


def test_a_review_changes_nothing(world: World, life: Life) -> None:
    steps = (READ, run_step("touch new.txt"), run_step("cat README.md"), FINISH)
    shown = life.until_ended(life.start(type="code-review", commit=True, token=world.token, **world.script(*steps)))
    assert shown["status"] == "completed", shown
    assert not {"diff", "commit", "branchName"} & shown["result"].keys()


def test_a_run_follows_another_on_its_branch_and_with_its_conversation(world: World, life: Life) -> None:
    first = life.until_ended(life.start(commit=True, token=world.token, **world.script(*MENDS)))
    script = world.script(*MENDS, use("write_file", path="more.txt", content="more\n"), FINISH)
    reply = life.post({"task": "Say more", "follow_up_of": first["id"], "commit": True, **script}, world.token)
    second = life.until_ended(reply.json()["id"])
    assert second["status"] == "completed", second
    before, after = first["result"]["commit"], second["result"]["commit"]
    bare = world.repository()
    assert after["branch"] == before["branch"]
    assert bare.find(before["branch"]) == after["sha"]
    assert git(bare.path, "rev-parse", f"{after['sha']}^").decode().strip() == before["sha"]
    assert [file["path"] for file in second["result"]["changedFiles"]] == ["more.txt"]
    assert "Fix add" in json.dumps(world.model.of(script["model"])[0].body)


REFUSED = [
    ({"repo": "/etc"}, "repository_refused", "repo"),
    ({"repo": "file:///etc"}, "repository_refused", "repo"),
    ({"repo": "https://user:pass@git.example/a/b"}, "repository_refused", "repo"),
    ({"repo": "http://git.example/a/b"}, "repository_refused", "repo"),
    ({"repo": "ssh://git.example/a/b"}, "repository_refused", "repo"),
    ({"repo": "../a"}, "repository_refused", "repo"),
    ({"branch": "--upload-pack=x"}, "repository_refused", "branch"),
    ({"new_branch": "refs/heads/main"}, "repository_refused", "new_branch"),
    ({"model": "nobody:knows"}, "invalid", "model"),
    ({"model": "mistral:large"}, "model_missing", "model"),
    ({"follow_up_of": "00000000-0000-4000-8000-000000000000"}, "not_found", "follow_up_of"),
]


@pytest.mark.parametrize(("body", "code", "where"), REFUSED)
def test_what_cannot_be_run_is_refused_and_nothing_is_started(
    life: Life, body: dict[str, str], code: str, where: str
) -> None:
    before = life.client.get("/v1/runs").json()["runs"]
    reply = life.post({"task": "x", "repo": "acme/sums", **body})
    told = reply.json()["error"]
    assert (told["code"], told["where"]) == (code, where), reply.text
    assert 400 <= reply.status_code < 504
    assert life.client.get("/v1/runs").json()["runs"] == before


def test_a_repository_that_is_not_there_ends_the_run_and_says_so(world: World, life: Life) -> None:
    shown = life.until_ended(life.start("acme/none", **world.script(*MENDS)))
    assert (shown["status"], shown["error"]["type"]) == ("failed", "repository_error")
    assert "no such repository" in shown["error"]["message"]


def test_the_default_branch_is_never_pushed_to(world: World, life: Life) -> None:
    bare = world.repository()
    before = bare.find("main")
    run = life.start(commit=True, new_branch="main", token=world.token, **world.script(*MENDS))
    shown = life.until_ended(run)
    assert (shown["status"], shown["error"]["type"]) == ("failed", "repository_error")
    assert bare.find("main") == before
    assert shown["result"]["diff"]
    assert "delivery_failed" in life.kinds(run)


def test_nothing_of_an_ended_run_is_left_on_the_disk_of_its_server(world: World, life: Life) -> None:
    run = life.start(**world.script(*MENDS))
    life.until_ended(run)
    until(lambda: not (world.folder / "data" / "runs" / run).exists())
