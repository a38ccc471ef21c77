"""A model's answer, read into actions: native calls, the contract's JSON form, or one command line and nothing else."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from drydock.agent.action import Action, NotAnAction, action
from drydock.agent.lines import SHELLS, command_lines, fences
from drydock.agent.policy import classes
from drydock.model.conversation import Answer, ToolCall

MOST_CALLS = 8
INFERRED = (
    ("command", "run_command"),
    ("commands", "run_parallel"),
    ("files", "read_files"),
    ("path", "read_file"),
    ("plan", "update_plan"),
    ("code", "run_script"),
    ("summary", "finish"),
)
"""What an object without `action` means by the first of these fields that it has."""
_STARTS_A_COMMAND = re.compile(r"(?:\$ |`)\s*[\w./]")
_UNUSABLE = "the answer holds no action"


def read(reply: Answer, *, native: bool) -> list[Action]:
    """The actions, in order. NotAnAction when nothing can be made of it."""
    if reply.calls and reply.finish != "length":
        return [_called(call) for call in reply.calls[:MOST_CALLS]]
    text = reply.text.strip()
    if reply.finish == "length":
        raise NotAnAction("the answer was cut off at the most that the model may write; do it in smaller parts")
    if not text:
        raise NotAnAction("the answer is empty")
    if native:
        return [_said(text)]
    try:
        return [_from_object(_object(text))]
    except NotAnAction as why:
        lines = _only_line(text)
        if len(lines) == 1:
            return [action("run_command", {"command": lines[0]})]
        raise why from None


def _called(call: ToolCall) -> Action:
    arguments: Any = call.arguments
    if isinstance(arguments, str):
        arguments = _object(arguments or "{}")
    return action(call.name, arguments, call_id=call.id)


def _said(text: str) -> Action:
    """Plain words of a model that could have called a tool: it has finished, unless they spell an action out."""
    try:
        found = _object(text)
    except NotAnAction:
        found = {}
    if isinstance(found.get("action"), str):
        return _from_object(found)
    return action("finish", {"summary": text})


def _object(text: str) -> Mapping[str, Any]:
    """The JSON object of a text, fenced or bare, the first if there are several.

    Raw line breaks and tabs inside its strings are let pass. An object inside a broken one is not what was meant.
    """
    fenced = [block for language, block in fences(text) if language == "json"]
    source = fenced[0] if fenced else text
    start = source.find("{")
    if start < 0:
        raise NotAnAction(_UNUSABLE)
    try:
        value, _ = json.JSONDecoder(strict=False).raw_decode(source, start)
    except (ValueError, RecursionError):
        raise NotAnAction("its JSON object is broken") from None
    return value if isinstance(value, dict) else {}


def _from_object(value: Mapping[str, Any]) -> Action:
    name = value.get("action")
    if isinstance(name, str) and name.strip():
        return action(name, value)
    for field, inferred in INFERRED:
        if value.get(field):
            return action(inferred, value)
    raise NotAnAction("its JSON object has no `action`")


def _only_line(text: str) -> list[str]:
    """Command lines in an answer without an object: of its fences, else those that are marked as commands, else the
    whole answer when it begins as commands do and does not end as sentences do."""
    blocks = [block for language, block in fences(text) if language in SHELLS]
    if blocks:
        return [line for block in blocks for line in command_lines(block)]
    rows = [row.strip() for row in text.splitlines() if row.strip()]
    marked = [row for row in rows if _STARTS_A_COMMAND.match(row)]
    if (
        not marked
        and len(rows) == 1
        and rows[0].split()[0] in classes.table()["common"]["words"]
        and rows[0][-1] not in ".:!?"
    ):
        marked = rows
    return [line for row in marked for line in command_lines(row)]
