"""The gate: which lines are checks, what base and change say together, and its events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from drydock.agent.gate.gate import NONE_NAMED, NOTHING_SHOWN, Check, Gate, Outcome, judged
from drydock.agent.gate.select import is_check, programs, select
from drydock.agent.gate.sensitive import sensitive_paths
from drydock.agent.task import Task
from drydock.agent.tools.run import Record
from tests.agent.conftest import TASK, Rig
from tests.agent.notebook import NotebookDesk

HERE = {"make", "npm", "pytest", "ls", "cat"}


def chosen(*plans: str, **more: Any) -> list[str]:
    return select(plans, HERE.__contains__, **more)


@pytest.mark.parametrize(
    "line",
    [
        "pytest -q",
        "tox",
        "mypy src",
        "npx jest",
        "go vet ./...",
        "npm run test:unit",
        "ruff check .",
        "git diff --check",
        "python -m pytest",
        "python3 -m unittest -q tests",
        "make lint",
        "cargo fmt --check",
        "cargo clippy",
        "./scripts/verify.sh",
        "uv run mypy src",
        "prettier -c .",
        "ctest",
    ],
)
def test_what_checks_is_kept(line: str) -> None:
    assert is_check(line)
    assert chosen(f"## Validation commands\n```bash\n{line}\n```") == [line]


@pytest.mark.parametrize(
    "line",
    [
        "npm install",
        "npm ci && npm test",
        "pip install -e .[test]",
        "cargo add test",
        "go mod tidy",
        "git commit -m test",
        "git add tests",
        "git push",
        "make build | tee out",
        "make test; rm -rf /",
        "sudo make test",
        "echo done",
        "ls",
        "cd tests",
        "# make test",
        "",
    ],
)
def test_what_does_not_check_or_is_refused_is_dropped(line: str) -> None:
    assert chosen(f"## Validation commands\n```bash\n{line}\n```") == []


def test_only_the_section_counts_and_in_it_the_fence() -> None:
    plan = """Plan
```bash
make test-of-elsewhere
```
**Validation commands**
Run these with care, they test all:
```sh
$ make test
1. `npm run lint`
```
## Risks
```sh
make test-of-the-risks
```
"""
    assert chosen(plan) == ["make test", "npm run lint"]


def test_lines_without_a_fence_count_when_their_program_is_there() -> None:
    plan = "Validation commands:\n- `make test`\n- Check that the build works\n- nosuch check\n* npm test\n"
    assert chosen(plan) == ["make test", "npm test"]
    assert programs([plan]) == ["Check", "make", "nosuch", "npm"]


def test_without_the_section_only_shell_fences_count_and_prose_never() -> None:
    plan = """1. Add tests for logout
make test the day
```json
{"scripts": {"test": "make test"}}
```
```python
test()
```
```
make check
```
~~~console
$ pytest -q
~~~
"""
    assert chosen(plan) == ["make check", "pytest -q"]
    assert chosen("Add tests for logout\nmake test") == []


def test_the_last_plan_comes_first_and_five_are_enough() -> None:
    first = "```\nmake test\nmake lint\n```"
    last = "```\npytest -q\nmake test\nmake check\nmake build\n```"
    assert chosen(last, first) == ["pytest -q", "make test", "make check", "make build", "make lint"]
    assert len(chosen("```\n" + "\n".join(f"make test-{n}" for n in range(9)) + "\n```")) == 5


def test_a_task_that_changes_nothing_checks_with_what_it_may_run() -> None:
    assert chosen("```\nmake test\npytest -q\nruff check --fix\n```", read_only=True) == ["pytest -q"]


@given(some.text(alphabet="`~#\n- *1.$ \"'make tsVlidonc:&|", max_size=300))
def test_no_plan_breaks_the_selection(plan: str) -> None:
    assert len(chosen(plan, plan)) <= 5


GOOD = Record("completed", 0, None, "ok", "", 5)
BAD = Record("exit_nonzero", 1, None, "", "boom", 5)


CHANGE = replace(TASK, type="refactoring")


def outcome(*sides: tuple[Record, Record | None], task: Task = CHANGE) -> Outcome:
    return judged(task, [Check(f"check {n}", change, base) for n, (change, base) in enumerate(sides)])


def test_all_good_and_one_bad() -> None:
    assert outcome((GOOD, GOOD), (GOOD, BAD)).summary == "Quality gate passed (2/2 checks passed)."
    failed = outcome((GOOD, GOOD), (BAD, GOOD))
    assert (failed.passed, failed.summary) == (False, "Quality gate failed (1/2 checks passed).")
    assert "Failed: check 1\nWithout your change it passes.\n```\nboom\n```" in failed.repair()


def test_what_failed_before_is_shown_and_does_not_count() -> None:
    found = outcome((GOOD, GOOD), (BAD, BAD))
    assert found.passed
    assert found.summary == (
        "Quality gate passed (1/1 checks passed). 1 that fails without the change too did not count."
    )
    assert [check["failedBefore"] for check in found.to_json()["checks"]] == [False, True]
    assert found.to_json()["checks"][1]["base"] == {"passed": False, "exitCode": 1, "output": "boom", "ms": 5}


def test_when_all_failed_before_nothing_is_shown_but_a_fix_has_to_mend_something() -> None:
    found = outcome((BAD, BAD))
    assert (found.passed, found.skipped, found.summary) == (True, True, NOTHING_SHOWN)
    fix = outcome((BAD, BAD), task=TASK)
    assert (fix.passed, fix.skipped, fix.summary) == (False, False, "Quality gate failed (0/1 checks passed).")
    assert outcome((GOOD, BAD), (BAD, BAD), task=TASK).passed


def test_a_task_that_changes_nothing_has_no_other_side() -> None:
    found = outcome((BAD, None), task=replace(TASK, type="test-suite"))
    assert not found.passed
    assert "base" not in found.to_json()["checks"][0]


class OneBox:
    """Base and change in folders of one box's repository."""

    def __init__(self, rig: Rig) -> None:
        self._rig = rig
        self.opened: list[str] = []

    async def base(self) -> Any:
        self.opened.append("base")
        await self._put("a - b")
        return self._rig.site

    async def change(self, round: int) -> Any:
        self.opened.append(f"change {round}")
        await self._put("b + a + 0" if round else "a * b")
        return self._rig.site

    async def _put(self, sum: str) -> None:
        text = f"def add(a, b):\n    return {sum}\n"
        await self._rig.site.run(["/bin/sh", "-c", "cat > sums.py"], stdin=text.encode(), timeout_s=5)


CHECK = "python3 -m unittest -q tests.test_unit"
PLAN = f"Validation commands\n```\n{CHECK}\ngit diff --check\n```"
UNIT = "import unittest, sums\nclass T(unittest.TestCase):\n    def test(self): self.assertEqual(sums.add(2, 3), 5)\n"


def examine(rig: Rig, grounds: OneBox, plans: Sequence[str], rounds: Sequence[int], task: Task = TASK) -> list[Outcome]:
    async def act() -> list[Outcome]:
        gate = Gate(task, NotebookDesk(rig.book), grounds)
        return [await gate.examine(plans, rig.site, round=round) for round in rounds]

    return rig.fleet.run(act())


def test_a_change_that_does_not_mend_fails_and_the_repair_passes(rig: Rig) -> None:
    rig.do("write_file", path="tests/test_unit.py", content=UNIT)
    rig.do("write_file", path="tests/__init__.py", content="")
    rig.do("run_command", command="rm json.py")
    rig.use(TASK)
    grounds = OneBox(rig)
    first, second = examine(rig, grounds, [PLAN.replace("git diff --check", "test -f README.md")], [0, 1])
    assert first.checks[0].failed_before
    assert not first.checks[0].passed
    assert second.checks[0].passed
    assert grounds.opened == ["base", "change 0", "base", "change 0", "change 1", "change 1"]
    types = [kind for kind in rig.book.types() if kind != "quality_gate_output"]
    assert types[:7] == [
        "quality_gate_commands_selected",
        "quality_gate_started",
        "quality_gate_check_started",
        "quality_gate_check_failed",
        "quality_gate_check_started",
        "quality_gate_check_passed",
        "quality_gate_completed",
    ]
    failed = rig.book.of("quality_gate_check_failed")[0]
    assert (failed["exitCode"], failed["failedBefore"], failed["commandIndex"]) == (1, True, 1)
    assert "AssertionError" in failed["error"]


def test_a_plan_without_checks_skips_the_gate(rig: Rig) -> None:
    [found] = examine(rig, OneBox(rig), ["I will test it."], [0])
    assert (found.passed, found.skipped, found.summary) == (True, True, NONE_NAMED)
    assert rig.book.types() == ["quality_gate_commands_selected", "quality_gate_skipped"]
    assert rig.book.of("quality_gate_commands_selected")[0]["commands"] == []


def test_lines_are_looked_up_in_the_box(rig: Rig) -> None:
    plan = "Validation commands:\n- Check all\n- cat tests/test_sums.py\n"
    [found] = examine(rig, OneBox(rig), [plan], [0])
    assert [check.command for check in found.checks] == ["cat tests/test_sums.py"]


def test_a_read_only_gate_changes_nothing(rig: Rig) -> None:
    task = replace(TASK, type="test-suite")
    plan = "Validation commands\n```\nawk 'BEGIN{print 1 > \"test\"}'\n```"

    class Here(OneBox):
        async def change(self, round: int) -> Any:
            return self._rig.site

    [found] = examine(rig, Here(rig), [plan], [0], task)
    assert (found.passed, found.checks[0].base) == (False, None)
    assert not rig.fleet.run(rig.site.run(["test", "-e", "test"], timeout_s=5)).ok


def test_changed_paths_that_a_person_should_look_at() -> None:
    changed = ["src/a.py", "tests/test_a.py", ".github/workflows/ci.yml", "pyproject.toml", "web/.eslintrc.json"]
    changed += ["src/conftest.py", "docs/testing.md", "pkg/x_test.go", "Makefile", "contest/a.py", "src/A.Test.ts"]
    assert sensitive_paths(changed) == {
        "tests": ["pkg/x_test.go", "src/A.Test.ts", "src/conftest.py", "tests/test_a.py"],
        "ci": [".github/workflows/ci.yml", "Makefile"],
        "lint": ["pyproject.toml", "web/.eslintrc.json"],
    }
