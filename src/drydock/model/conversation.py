"""What is said to a model and what it answers, in plain values that no provider's library knows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from drydock.model.usage import Usage


@dataclass(frozen=True, slots=True)
class ToolCall:
    id: str
    name: str
    arguments: Mapping[str, Any] | str
    """An object, or the text that the model gave in its place."""


@dataclass(frozen=True, slots=True)
class Message:
    role: Literal["system", "user", "assistant", "tool"]
    text: str
    calls: tuple[ToolCall, ...] = ()
    """Of an assistant."""
    call_id: str = ""
    """Of a `tool` message: the call that it answers."""
    raw: Any = None
    """Of an assistant: `Answer.raw`, which holds what plain text loses, such as signed thinking."""


@dataclass(frozen=True, slots=True)
class Tool:
    name: str
    description: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """JSON Schema of an object."""


@dataclass(frozen=True, slots=True)
class Answer:
    text: str
    calls: tuple[ToolCall, ...]
    thinking: str
    """What the model let be seen of its reasoning."""
    model: str
    """`provider:name` of the one that answered, which may be a fallback."""
    usage: Usage
    """Of this answer and of the tries before it that were answered and paid for, but empty."""
    raw: Any
    """The answer as its provider's library keeps it, plain JSON; for `Message.raw`."""
    finish: Literal["stop", "length", "tools", "refused", "unknown"] = "unknown"
    """Why it ended; `length` means that it was cut off."""
    tries: int = 1
    """Requests sent for it, fallbacks' included."""
