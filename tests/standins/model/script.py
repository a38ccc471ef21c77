"""What a scripted model says, and what goes wrong before it does."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True)
class Fault:
    """One request that is not answered as it should be."""

    kind: Literal["status", "cut", "slow", "empty", "garbage", "shape", "reset", "endless", "packed"] = "status"
    """`cut` ends the connection in the middle of the answer, `reset` before it; `slow` says nothing until the server
    ends; `endless` never comes to its end, `packed` is compressed unasked; `garbage` is no JSON, `shape` is JSON of
    another form."""
    status: int = 500
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str = ""
    """Of a `status`; empty is an error object in the provider's form."""


@dataclass(frozen=True)
class ToolUse:
    name: str
    input: Mapping[str, Any] | str
    """Text in place of an object is sent as it is where the wire form allows (OpenAI's)."""
    id: str = ""


@dataclass(frozen=True)
class Step:
    text: str = ""
    thinking: str = ""
    tools: tuple[ToolUse, ...] = ()
    usage: Mapping[str, int] = field(default_factory=dict)
    """Anthropic's names: input_tokens (uncached ones), output_tokens, cache_read_input_tokens, ..."""
    stop: str = ""
    """Anthropic's word, `max_tokens` for instance; empty follows from the step."""
    faults: tuple[Fault, ...] = ()
    """One a request, in order; then the step is answered."""

    def tokens(self, name: str) -> int:
        defaults = {"input_tokens": 100, "output_tokens": 10}
        return self.usage.get(name, defaults.get(name, 0))


@dataclass(frozen=True)
class Script:
    steps: tuple[Step, ...]
    key: str = ""
    """Any other key is refused with 401, and so is none."""
    plan: Step | None = None
    """Answers what is asked without a system message, as an agent's request for a plan is; it is no step."""

    @classmethod
    def from_json(cls, text: str) -> Script:
        """`{"plan": "...", "steps": [{"text", "thinking", "tools": [{"name", "input"}], "usage"}]}`, kept as a file."""
        told = json.loads(text)
        plan = Step(text=told["plan"]) if "plan" in told else None
        return cls(tuple(_step(each) for each in told["steps"]), plan=plan)


def _step(told: Mapping[str, Any]) -> Step:
    tools = tuple(ToolUse(**use) for use in told.get("tools", ()))
    return Step(**{**told, "tools": tools})
