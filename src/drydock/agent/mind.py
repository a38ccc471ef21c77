"""The model behind the loop: a conversation and tools in, one answer out. Retries, prices, keys are its own affair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Protocol


@dataclass(frozen=True, slots=True)
class Call:
    """One native tool call. Its arguments are as the model gave them: an object, or text that is not one."""

    id: str
    name: str
    arguments: Mapping[str, Any] | str


@dataclass(frozen=True, slots=True)
class Usage:
    input_tokens: int = 0
    """Cached ones among them."""
    output_tokens: int = 0
    cached_tokens: int = 0
    cost_usd: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
            self.cost_usd + other.cost_usd,
        )


@dataclass(frozen=True, slots=True)
class Message:
    role: Literal["system", "user", "assistant", "tool"]
    text: str
    calls: tuple[Call, ...] = ()
    """Of an assistant that called tools natively; each is answered by a `tool` message that follows."""
    call_id: str = ""
    """Of a `tool` message: the call that it answers."""
    raw: Any = None
    """An assistant's message in its provider's own form, plain JSON, given back to it unread."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Message:
        return cls(**{**data, "calls": tuple(Call(**call) for call in data["calls"])})


@dataclass(frozen=True, slots=True)
class Reply:
    text: str
    calls: tuple[Call, ...] = ()
    usage: Usage = Usage()
    thinking: str = ""
    """What it let be seen of its reasoning."""
    model: str = ""
    """Which one answered, when a fallback may have."""
    raw: Any = None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Reply:
        calls = tuple(Call(**call) for call in data["calls"])
        return cls(**{**data, "calls": calls, "usage": Usage(**data["usage"])})


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as a model is told of it."""

    name: str
    description: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """JSON Schema of an object."""


class Mind(Protocol):
    native_tools: bool
    """Whether it calls tools natively; if not, it is told the JSON form and no tools are passed."""

    async def answer(self, conversation: Sequence[Message], tools: Sequence[Tool]) -> Reply:
        """A DrydockError when no model answered, whatever it tried; an answer that makes no sense is an answer."""
