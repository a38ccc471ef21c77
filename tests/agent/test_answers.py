"""What models write, read into actions: contract polychat, 4.1."""

from __future__ import annotations

import contextlib
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from drydock.agent import answers
from drydock.agent.action import Action, NotAnAction, forms
from drydock.model.conversation import ToolCall
from tests.agent.minds import reply


def read(text: str, *, native: bool = False) -> Action:
    [found] = answers.read(reply(text), native=native)
    return found


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        *((name, name) for name in forms()),
        ("execute_command", "run_command"),
        ("command", "run_command"),
        ("read", "read_file"),
        ("revise_plan", "update_plan"),
        ("complete", "finish"),
        ("done", "finish"),
        ("run_commands", "run_parallel"),
        ("parallel_commands", "run_parallel"),
        ("batch_commands", "run_parallel"),
        ("batch_read", "read_files"),
        ("read_batch", "read_files"),
        ("execute_script", "run_script"),
        ("script", "run_script"),
        ("  FINISH ", "finish"),
    ],
)
def test_every_alias_is_known(alias: str, name: str) -> None:
    filled: dict[str, Any] = {"lines": ["ls"], "files": ["a"], "number": 1, "flag": True, "text": "x", "line": "x"}
    fields = {key: filled[one.type] for key, one in forms()[name].fields.items()}
    assert read(json.dumps({"action": alias, **fields})).name == name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('{"command": "ls", "plan": "x"}', "run_command"),
        ('{"commands": ["ls"], "path": "x"}', "run_parallel"),
        ('{"files": ["a"], "path": "x"}', "read_files"),
        ('{"path": "a", "plan": "x"}', "read_file"),
        ('{"plan": "x", "code": "1"}', "update_plan"),
        ('{"code": "1", "summary": "x"}', "run_script"),
        ('{"summary": "x"}', "finish"),
    ],
)
def test_an_action_that_is_not_named_is_inferred_in_order(text: str, name: str) -> None:
    assert read(text).name == name


@pytest.mark.parametrize(
    "text",
    [
        '```json\n{"action": "read_file", "path": "a.py"}\n```',
        'I look {carefully} first.\n```json\n{"action": "read_file", "path": "a.py"}\n```\nThen more.',
        'First: {"action": "read_file", "path": "a.py"} and that is it.',
        '{"action": "read_file", "path": "a.py"}\n{"action": "finish"}',
    ],
)
def test_one_object_with_text_around_it(text: str) -> None:
    assert read(text) == Action("read_file", {"path": "a.py"})


def test_raw_line_breaks_and_tabs_in_strings_are_let_pass() -> None:
    found = read('{"action": "write_file", "path": "a", "content": "one\n\ttwo\n"}')
    assert found.arguments["content"] == "one\n\ttwo\n"


def test_fields_are_brought_into_their_types() -> None:
    found = read('{"action": "read", "file": " a ", "start_line": "3", "endLine": true, "reasoning": " why "}')
    assert found == Action("read_file", {"path": "a", "startLine": 3}, "why")
    many = read(json.dumps({"action": "run_parallel", "commands": ["1", 2, " ", "3", "4", "5", "6"]}))
    assert many.arguments["commands"] == ["1", "3", "4", "5"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty"),
        ("I will look at the files.", "holds no action"),
        ("{}", "no `action`"),
        ('{"action": "dance"}', "there is no action `dance`"),
        ('{"action": "run_command", "command": "  "}', "needs `command`"),
        ('{"action": "run_command"}', "needs `command`"),
        ('{"action": "run_parallel", "commands": []}', "needs `commands`"),
        ('{"action": "edit_file", "path": "a", "old": "x"}', "needs `new`"),
        ('{"action": "run_command", "command": "ls"', "broken"),
        ("[1, 2]", "holds no action"),
        ('{"action": "run_script", "code": "' + "x" * 100_001 + '"}', "100001 characters"),
        ("{" * 5000, "broken"),
    ],
)
def test_what_is_no_action_is_told_why(text: str, why: str) -> None:
    with pytest.raises(NotAnAction, match=why):
        read(text)


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("Let me see:\n```bash\n# look\n$ ls -la\n```\nThat should do.", "ls -la"),
        ("```\ncd src\nmake test\n```", "make test"),
        ("I run\n$ make check\nnow", "make check"),
        ("`make check`", "make check"),
        ("ls -la", "ls -la"),
    ],
)
def test_exactly_one_command_line_is_run(text: str, command: str) -> None:
    assert read(text) == Action("run_command", {"command": command})


@pytest.mark.parametrize(
    "text", ["```sh\nls\npwd\n```", "```python\nprint(1)\n```", "Run the tests", "make it work.", "ls -la\npwd"]
)
def test_prose_and_several_lines_are_never_run(text: str) -> None:
    with pytest.raises(NotAnAction):
        read(text)


def test_native_calls_are_taken_in_order() -> None:
    calls = (
        ToolCall("c1", "read_file", {"path": "a"}),
        ToolCall("c2", "finish", '{"summary": "ok"}'),
        ToolCall("c3", "finish", ""),
    )
    found = answers.read(reply("thinking aloud", calls), native=True)
    assert found == [
        Action("read_file", {"path": "a"}, call_id="c1"),
        Action("finish", {"summary": "ok"}, call_id="c2"),
        Action("finish", {}, call_id="c3"),
    ]
    with pytest.raises(NotAnAction, match="broken"):
        answers.read(reply("", (ToolCall("c", "finish", "{"),)), native=True)


def test_an_answer_that_was_cut_off_is_not_acted_on() -> None:
    half = replace(reply("", (ToolCall("c", "write_file", {"path": "a", "content": "ha"}),)), finish="length")
    with pytest.raises(NotAnAction, match="cut off"):
        answers.read(half, native=True)


def test_plain_words_of_a_native_model_are_its_finish() -> None:
    assert read("All done, see `{x}`.", native=True) == Action("finish", {"summary": "All done, see `{x}`."})
    assert read('{"action": "read_file", "path": "a"}', native=True).name == "read_file"


def test_the_normal_form_reads_back_as_the_same() -> None:
    found = Action("edit_file", {"path": "a", "old": "x\ny", "new": ""}, "because")
    assert read(found.normal()) == found


@given(some.text(max_size=300) | some.text(alphabet='{}[]":,`\n actionfinish', max_size=200))
def test_no_answer_breaks_the_reader(text: str) -> None:
    for native in (True, False):
        with contextlib.suppress(NotAnAction):
            assert answers.read(reply(text), native=native)
