"""The matrix of routing.md section 3, row for row."""

from __future__ import annotations

from typing import Any

import pytest

from drydock.dialects.shapes import Dialect, Hints, choose

TOKEN = Hints(github_token=True)
JWT = Hints(authorization="Bearer a.b.c")
STREAM = Hints(accept="text/event-stream")
NONE = Hints()
SLUG = {"task": "t", "repo": "o/r"}

ROWS: list[tuple[dict[str, Any], Hints, Dialect]] = [
    ({"code": "print(1)"}, NONE, "code"),
    ({"code": 5}, NONE, "code"),
    ({"code": None}, NONE, "code"),
    ({"code": "x", "task": "y"}, NONE, "code"),
    ({"code": "x", "params": {}}, TOKEN, "code"),
    ({"requirements": ["x"]}, NONE, "code"),
    ({"files": {}, "timeout_seconds": 3}, NONE, "code"),
    ({"task": "t"}, NONE, "executor"),
    ({"task": "t", "timeout": 60000}, NONE, "task"),
    ({"task": "t", "timeout": 60000, "options": {}}, NONE, "executor"),
    ({"task": "t", "timeout": 1, "repo": "o/r"}, NONE, "executor"),
    (SLUG, NONE, "executor"),
    ({**SLUG, "model": "m"}, NONE, "executor"),
    ({"task": "t", "repo": "https://h/o/r"}, NONE, "executor"),
    ({"task": "t", "repo": "https://h/o/r"}, STREAM, "executor"),
    ({"task": "t", "options": {"permission_mode": "full"}}, NONE, "executor"),
    (SLUG, TOKEN, "polychat"),
    (SLUG, JWT, "polychat"),
    (SLUG, STREAM, "polychat"),
    ({**SLUG, "branch": "b"}, TOKEN, "executor"),
    ({**SLUG, "branch": "b"}, JWT, "executor"),
    ({**SLUG, "branch": "b"}, STREAM, "executor"),
    ({"task": "t", "context": "c"}, NONE, "executor"),
    ({**SLUG, "shouldCommit": True}, NONE, "polychat"),
    ({**SLUG, "shouldCommit": True, "options": {}}, NONE, "polychat"),
    ({"task": "feature-implementation", "params": {"repo": "o/r", "task": "t"}}, NONE, "polychat"),
    ({"id": "x", "params": {"task_id": "x", "title": "y"}}, NONE, "executor"),
    ({"task": "t", "timeoutSeconds": 60}, NONE, "polychat"),
    ({"task": "t", "timeout_seconds": 60}, NONE, "executor"),
    ({"task": "t", "timeout": 60}, NONE, "task"),
    ({}, NONE, "executor"),
    ({"x": 1}, NONE, "executor"),
    ({"prompt": "p"}, NONE, "executor"),
]


@pytest.mark.parametrize(("body", "hints", "dialect"), ROWS)
def test_the_shape_of_a_body_decides_its_contract(body: dict[str, Any], hints: Hints, dialect: Dialect) -> None:
    assert choose(body, hints, "executor").dialect == dialect


@pytest.mark.parametrize("root", ["executor", "task", "polychat", "code"])
def test_what_no_rule_decides_goes_to_the_root(root: Dialect) -> None:
    assert choose({"task": "t"}, NONE, root).dialect == root
    assert choose({}, NONE, root).dialect == root
    assert choose({"code": "x"}, NONE, root).dialect == "code"


def test_an_api_key_is_no_jwt() -> None:
    assert choose(SLUG, Hints(authorization="Bearer ddk_abc_def"), "executor").dialect == "executor"
