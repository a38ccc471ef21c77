"""Stories: chosen, marked and written down, from files that anybody may have written. Contract polychat, 6.2."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from drydock.agent import stories
from drydock.agent.gate.gate import NONE_NAMED, Outcome
from drydock.agent.plan import Plan
from drydock.agent.task import Task
from drydock.agent.tracker import track
from tests.agent.conftest import TASK, Rig
from tests.agent.notebook import NotebookDesk

PRD: dict[str, Any] = {
    "project": "Ledger",
    "owner": {"kept": [1, 2]},
    "userStories": [
        "junk",
        {"id": "L-1", "title": "Import of statements", "priority": "2", "passes": True},
        {"id": "L-2", "title": "CSV export", "description": "all rows", "priority": 3, "passes": False, "x": "kept"},
        {"id": "L-3", "title": "Nightly sums", "priority": 1},
        {"id": "L-22", "title": "Excel export", "priority": "soon", "passes": "true"},
    ],
}
PASSED = Outcome(True, "Quality gate passed (1/1 checks passed).")
FAILED = Outcome(False, "Quality gate failed (0/1 checks passed).")


def pick(plan: str, task: str = "do it") -> str:
    prd = stories.read(json.dumps(PRD))
    assert prd is not None
    story = stories.choose(prd, plan, task)
    return story.id if story else ""


@pytest.mark.parametrize(
    ("plan", "task", "wanted"),
    [
        ("Story L-2", "go on", "L-2"),
        ("story l-22 please", "go on", "L-22"),
        ("", "Add the CSV export", "L-2"),
        ("", "an EXPORTER", "L-2"),
        ("", "unrelated", "L-3"),
        ("", "L-1 and imports of statements", "L-3"),
        ("excel", "", "L-22"),
        ("L-2", "L-22", "L-2"),
    ],
)
def test_the_story_that_plan_and_task_are_about(plan: str, task: str, wanted: str) -> None:
    assert pick(plan, task) == wanted


def test_the_summary_shows_what_is_unfinished_by_priority() -> None:
    prd = stories.read(json.dumps(PRD))
    assert prd is not None
    assert prd.summary() == (
        "Project: Ledger\nStories:\n- L-3 Nightly sums (priority 1, passes: no)\n"
        "- L-2 CSV export (priority 3, passes: no): all rows\n- L-22 Excel export (priority none, passes: no)"
    )


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"userStories": {}}', "[" * 100_000, '{"userStories": [1, null, "x"]}']
)
def test_what_has_not_the_structure_tracks_nothing(text: str) -> None:
    prd = stories.read(text)
    assert prd is None or stories.choose(prd, "", "") is None


@given(
    some.recursive(
        some.none() | some.booleans() | some.floats() | some.text(),
        lambda x: (
            some.lists(x)
            | some.dictionaries(some.sampled_from(["id", "title", "priority", "passes", "userStories"]), x)
        ),
        max_leaves=20,
    )
)
def test_no_file_breaks_the_tracker(data: Any) -> None:
    prd = stories.read(json.dumps({"userStories": data}))
    if prd is not None and (story := stories.choose(prd, "x", "y")) is not None:
        assert stories.read(prd.marked(story, True) or "") is not None


def tracked(rig: Rig, outcome: Outcome, prd: str | None = None, task: Task = TASK) -> str:
    if prd is not None:
        rig.do("write_file", path="prd.json", content=prd)
    rig.use(task)

    async def act() -> str:
        return (await track(task, Plan("Story L-2"), outcome, NotebookDesk(rig.book), rig.site))[0]

    return rig.fleet.run(act())


def test_a_story_that_passed_is_marked_and_written_down(rig: Rig) -> None:
    assert tracked(rig, PASSED, json.dumps(PRD)) == "Story L-2 CSV export is done."
    told = [(event["type"], event.get("updated"), event["message"]) for event in rig.book.events.values()]
    assert told == [
        ("story_tracker_selected", None, "tracking L-2 CSV export"),
        ("story_tracker_prd_updated", True, "set to true"),
        ("story_tracker_progress_updated", True, "appended"),
    ]
    text = rig.contents("prd.json")
    wanted = json.loads(json.dumps(PRD))
    wanted["userStories"][2]["passes"] = True
    assert text == json.dumps(wanted, indent=2) + "\n"
    line = (
        r"\[\d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}Z\] L-2 CSV export :: PASSED"
        r" :: Quality gate passed \(1/1 checks passed\)\. :: Task: Fix add\n"
    )
    assert re.fullmatch(line, rig.contents("progress.txt"))


def test_a_story_that_failed_was_false_already_and_progress_gets_a_line_of_its_own(rig: Rig) -> None:
    rig.do("write_file", path="progress.txt", content="no line end")
    tracked(rig, FAILED, json.dumps(PRD), replace(TASK, text="Fix\n  add " + "x" * 400))
    assert rig.book.of("story_tracker_prd_updated")[0]["updated"] is False
    first, second = rig.contents("progress.txt").splitlines()
    assert first == "no line end"
    assert second.endswith(" :: Task: " + ("Fix add " + "x" * 400)[:300])


def test_a_story_without_the_key_is_written(rig: Rig) -> None:
    prd = {"userStories": [{"title": "Only a title"}]}
    tracked(rig, FAILED, json.dumps(prd))
    assert json.loads(rig.contents("prd.json"))["userStories"][0] == {"title": "Only a title", "passes": False}
    assert " Only a title :: FAILED" in rig.contents("progress.txt")
    assert "storyId" not in rig.book.of("story_tracker_selected")[0]


@pytest.mark.parametrize(
    ("prd", "outcome", "task"),
    [
        (None, PASSED, TASK),
        ("{", PASSED, TASK),
        (json.dumps({"userStories": [{"title": "a", "passes": True}]}), PASSED, TASK),
        (json.dumps(PRD), Outcome(True, NONE_NAMED, skipped=True), TASK),
        (json.dumps(PRD), PASSED, replace(TASK, type="code-review")),
    ],
)
def test_what_tracks_nothing_says_so_and_writes_nothing(
    rig: Rig, prd: str | None, outcome: Outcome, task: Task
) -> None:
    assert tracked(rig, outcome, prd, task) == ""
    assert rig.book.types() == ["story_tracker_skipped"]
    assert not rig.fleet.run(rig.site.run(["test", "-e", "progress.txt"], timeout_s=5)).ok
    assert prd is None or rig.contents("prd.json") == prd
