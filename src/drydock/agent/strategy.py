"""Which strategy a task gets: the one asked for, the first whose word stands in the user's text, or its type's."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from drydock.agent.prompts import data
from drydock.agent.task import Strategy, Task


@dataclass(frozen=True, slots=True)
class Chosen:
    strategy: Strategy
    source: Literal["explicit", "task-keywords", "task-type"]
    reason: str


def choose(task: Task) -> Chosen:
    if task.strategy != "auto":
        return Chosen(task.strategy, "explicit", f"{task.strategy} was asked for")
    for name, strategy in data.strategies().items():
        for word in strategy.keywords:
            if re.search(rf"\b{re.escape(word)}\b", task.text, re.IGNORECASE):
                return Chosen(name, "task-keywords", f"the task says `{word}`")
    return Chosen(data.types()[task.type].default, "task-type", f"default for {task.type}")


def told(task: Task) -> str:
    """The task as the model is told of it: its type's preamble, then the user's own words."""
    preamble = data.types()[task.type].preamble
    return f"{preamble}\n\n{task.text}" if preamble else task.text
