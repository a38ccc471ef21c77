"""The data files of this folder, read once, and filled in.

Filling goes over a template once: what is filled in, repository text among it, is never looked at for names again.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from string import Template
from typing import Any, get_args

from drydock.agent.task import Strategy, TaskType

HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Example:
    title: str
    situation: str
    approach: Sequence[str]
    validation: Sequence[str]

    def shown(self) -> str:
        points = [f"- {point}" for point in self.approach] + [f"- check: {point}" for point in self.validation]
        return "\n".join([f"{self.title}. {self.situation}", *points])


@dataclass(frozen=True, slots=True)
class StrategyData:
    name: Strategy
    label: str
    keywords: Sequence[str]
    planning: str
    execution: str
    examples: Sequence[Example]


@dataclass(frozen=True, slots=True)
class TypeData:
    name: TaskType
    default: Strategy
    prefix: str
    """Of a commit's subject."""
    preamble: str
    """Given to the model with the user's text."""
    example: Example


@cache
def strategies() -> Mapping[Strategy, StrategyData]:
    """In the order in which their keywords are looked for."""
    rows = {name: _toml(f"strategies/{name}.toml") for name in get_args(Strategy)}
    return {name: _strategy(name, rows[name]) for name in sorted(rows, key=lambda name: int(rows[name]["order"]))}


def _strategy(name: Strategy, row: dict[str, Any]) -> StrategyData:
    examples = [Example(**example) for example in row["examples"]]
    return StrategyData(name, row["label"], row["keywords"], row["planning"], row["execution"], examples)


@cache
def types() -> Mapping[TaskType, TypeData]:
    return {name: _type(name, _toml(f"types/{name}.toml")) for name in get_args(TaskType)}


def _type(name: TaskType, row: dict[str, Any]) -> TypeData:
    return TypeData(name, row["default"], row["prefix"], row["preamble"], Example(**row["example"]))


@cache
def _toml(path: str) -> dict[str, Any]:
    return tomllib.loads((HERE / path).read_text("utf-8"))


@cache
def _template(name: str) -> Template:
    return Template((HERE / name).read_text("utf-8").strip())


def filled(name: str, **values: object) -> str:
    return _template(name).substitute(values)


def note(name: str, **values: object) -> str:
    return Template(_toml("notes.toml")[name]).substitute(values)
