"""The conversation with a model: how it begins, what is added to it, and what of it is shown when it grows long."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from drydock.agent.action import Form
from drydock.agent.context import Context
from drydock.agent.prompts.data import filled, note, strategies, types
from drydock.agent.strategy import Chosen, told
from drydock.agent.task import READ_ONLY, Task
from drydock.agent.texts import cut, fenced
from drydock.model.conversation import Message

MOST_CHARACTERS = 400_000
"""Of a conversation as a model is sent it; beyond them the oldest observations are shortened."""
SHORTENED = 400
MOST_EARLIER = 60
EARLIER_CHARACTERS = 2_000


def earlier(task: Task) -> list[Message]:
    """The conversation of the run before, in plain words: its model may have been another."""
    kept = [message for message in task.earlier if message.role != "system"][-MOST_EARLIER:]
    plain: list[Message] = []
    for message in kept:
        role: Literal["user", "assistant"] = "assistant" if message.role == "assistant" else "user"
        calls = [f"{call.name} {json.dumps(call.arguments, ensure_ascii=False)}" for call in message.calls]
        text = cut("\n".join([message.text, *calls]), EARLIER_CHARACTERS)
        if plain and plain[-1].role == role:
            plain[-1] = replace(plain[-1], text=f"{plain[-1].text}\n\n{text}")
        elif plain or role == "user":
            plain.append(Message(role, text))
    return plain


def planning(task: Task, chosen: Chosen, context: Context) -> list[Message]:
    strategy = strategies()[chosen.strategy]
    text = filled(
        "planning.md",
        repo=task.repo,
        task=told(task),
        label=strategy.label,
        reason=chosen.reason,
        planning=strategy.planning,
        examples="\n\n".join(example.shown() for example in strategy.examples),
        type_example=types()[task.type].example.shown(),
        marking=note("marking"),
        context=context.shown(),
    )
    return [*earlier(task), Message("user", text)]


def system(task: Task, chosen: Chosen, root: str, offered: Sequence[Form], *, native: bool) -> Message:
    strategy = strategies()[chosen.strategy]
    limits = ""
    if task.type in READ_ONLY:
        limits = note("tests_only" if task.generate_tests else "read_only")
    text = filled(
        "system.md",
        repo=task.repo,
        root=root,
        label=strategy.label,
        execution=strategy.execution,
        commands=note("single" if task.single_commands else "lines"),
        read_only=limits,
        form="" if native else filled("json.md", actions="\n".join(map(_described, offered))),
        marking=note("marking"),
    )
    return Message("system", text)


def kickoff(task: Task, chosen: Chosen, context: Context, plan: str) -> Message:
    text = filled(
        "kickoff.md",
        repo=task.repo,
        task=told(task),
        label=strategies()[chosen.strategy].label,
        plan=fenced(plan),
        marking=note("marking"),
        context=context.shown(),
        steps=task.budget.steps,
        commands=task.budget.commands,
    )
    return Message("user", text)


def _described(form: Form) -> str:
    fields = [f"{name}{'' if one.required else '?'}: {one.told}" for name, one in form.fields.items()]
    return f"- {form.name}: {form.told}" + "".join(f"\n    {line}" for line in fields)


def fitting(conversation: Sequence[Message]) -> list[Message]:
    """All of it, the oldest observations shortened as far as it must be. Beginning and newest stay whole."""
    shown = list(conversation)
    over = sum(len(message.text) for message in shown) - MOST_CHARACTERS
    for at in range(2, len(shown) - 8):
        if over <= 0:
            break
        if shown[at].role in ("user", "tool") and len(shown[at].text) > 2 * SHORTENED:
            over -= len(shown[at].text)
            shown[at] = replace(shown[at], text=cut(shown[at].text, SHORTENED))
            over += len(shown[at].text)
    return shown
