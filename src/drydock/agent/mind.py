"""The model behind the loop: a conversation and tools in, one answer out, and how a step's record keeps that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from decimal import Decimal
from typing import Any, Protocol

from drydock.model.conversation import Answer, Message, Tool, ToolCall
from drydock.model.models import Models
from drydock.model.usage import Usage


class Mind(Protocol):
    native_tools: bool
    """Whether it calls tools natively; if not, it is told the JSON form and no tools are passed."""

    async def answer(self, conversation: Sequence[Message], tools: Sequence[Tool]) -> Answer:
        """A ModelFailed when no model answered, whatever was tried; an answer that makes no sense is an answer."""


class NamedMind:
    """A model of the model room, by its alias or full name."""

    def __init__(self, models: Models, name: str, settings: Mapping[str, Any] | None = None) -> None:
        """`settings` as the run's owner gave them: temperature and the like."""
        self._models, self._name, self._settings = models, name, settings or {}
        self.native_tools = models.calls_tools(name)

    async def answer(self, conversation: Sequence[Message], tools: Sequence[Tool]) -> Answer:
        return await self._models.answer(self._name, conversation, tools, self._settings)


def answer_to_json(answer: Answer) -> dict[str, Any]:
    data = asdict(answer)
    cost = answer.usage.cost_usd
    data["usage"]["cost_usd"] = None if cost is None else str(cost)
    return data


def answer_from_json(data: Mapping[str, Any]) -> Answer:
    told = data["usage"]["cost_usd"]
    usage = Usage(**{**data["usage"], "cost_usd": None if told is None else Decimal(told)})
    return Answer(**{**data, "calls": _calls(data["calls"]), "usage": usage})


def message_from_json(data: Mapping[str, Any]) -> Message:
    """What `dataclasses.asdict` made of one."""
    return Message(**{**data, "calls": _calls(data["calls"])})


def _calls(rows: Sequence[Mapping[str, Any]]) -> tuple[ToolCall, ...]:
    return tuple(ToolCall(**row) for row in rows)
