"""What lock files name is there for the agent and for the checks, on the base and on the change alike."""

from __future__ import annotations

import base64
import hashlib
import json

from tests.e2e.runs.world import FINISH, Life, World, run_step, use
from tests.standins.model import Step
from tests.standins.wheels import tarball, wheel

PYTHON_CHECK = "python3 -m unittest -q"
NODE_CHECK = "node test.js"
TEST = b"import unittest\nimport pinned\n\n\nclass T(unittest.TestCase):\n    def test_it(self):\n        import work\n"


def plan(check: str) -> Step:
    return Step(text=f"## Validation commands\n```sh\n{check}\n```\n")


def test_python_s_requirements_are_there_for_agent_and_checks(world: World, life: Life) -> None:
    world.index.publish(wheel("pinned"))
    bare = world.forge.create("acme/python", {"requirements.txt": b"pinned==1.0\n", "test_work.py": TEST})
    steps = (run_step("python3 -c 'import pinned'"), use("write_file", path="work.py", content="X = 1\n"), FINISH)
    run = life.start("acme/python", commit=True, token=world.token, **world.script(*steps, plan=plan(PYTHON_CHECK)))
    shown = life.until_ended(run)
    assert shown["status"] == "completed", shown
    result = shown["result"]
    assert result["dependencies"] == [{"lock": "requirements.txt", "ok": True, "told": ""}]
    [check] = result["gate"]["checks"]
    assert (check["passed"], check["failedBefore"]) == (True, True), check
    assert "No module named 'work'" in check["base"]["output"]
    assert "command_completed" in life.kinds(run)
    assert set(bare.files(result["commit"]["sha"])) == {"requirements.txt", "test_work.py", "work.py"}


def test_node_s_lock_is_installed_and_is_no_part_of_the_change(world: World, life: Life) -> None:
    package = tarball("locked")
    world.index.publish(package)
    integrity = "sha512-" + base64.b64encode(hashlib.sha512(package.data).digest()).decode()
    wanted = {"locked": "1.0.0"}
    entries = {
        "": {"name": "demo", "version": "1.0.0", "dependencies": wanted},
        "node_modules/locked": {"version": "1.0.0", "integrity": integrity},
    }
    lock = {"name": "demo", "version": "1.0.0", "lockfileVersion": 3, "requires": True, "packages": entries}
    files = {
        "package.json": json.dumps({"name": "demo", "version": "1.0.0", "dependencies": wanted}).encode(),
        "package-lock.json": json.dumps(lock).encode(),
        "test.js": b"if (require('locked').version !== '1.0.0' || require('./work') !== 1) process.exit(1)\n",
    }
    bare = world.forge.create("acme/node-locked", files)
    steps = (use("write_file", path="work.js", content="module.exports = 1\n"), run_step(NODE_CHECK), FINISH)
    script = world.script(*steps, plan=plan("node test.js # test"))
    run = life.start("acme/node-locked", commit=True, token=world.token, **script)
    shown = life.until_ended(run)
    assert shown["status"] == "completed", shown
    assert shown["result"]["dependencies"] == [{"lock": "package-lock.json", "ok": True, "told": ""}]
    assert "command_completed" in life.kinds(run), shown["result"]["logs"]
    assert [check["passed"] for check in shown["result"]["gate"]["checks"]] == [True], shown["result"]["gate"]
    assert set(bare.files(shown["result"]["commit"]["sha"])) == {*files, "work.js"}


def test_what_cannot_be_installed_is_told_and_stops_nothing(world: World, life: Life) -> None:
    world.forge.create("acme/lacking", {"requirements.txt": b"nosuch==9\n"})
    shown = life.until_ended(life.start("acme/lacking", type="refactoring", **world.script(FINISH, plan=plan("ls"))))
    assert shown["status"] == "completed", shown
    [told] = shown["result"]["dependencies"]
    assert not told["ok"]
    assert "nosuch" in told["told"]
