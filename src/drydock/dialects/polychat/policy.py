"""What a body may say about delivery and about the model, checked and kept as it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from drydock.dialects.polychat.fields import Fields

MODES = ("leave_uncommitted", "review_branch", "commit_to_branch", "custom")
DESTINATIONS = ("branch", "pull_request")
NUMBERS = ("temperature", "top_p", "presence_penalty", "frequency_penalty")
COUNTS = ("top_k", "max_tokens")
WORDS = ("reasoning_effort", "verbosity")


def delivery(fields: Fields) -> Mapping[str, Any]:
    told = fields.table("deliveryPolicy")
    if told is None:
        return {}
    inner = Fields(told, path="deliveryPolicy.")
    mode = inner.one_of("mode", MODES, None)
    kept: dict[str, Any] = {"mode": mode}
    if mode is None and not inner.problems:
        inner.note("mode", "is required")
    elif mode == "review_branch":
        kept["destination"] = inner.one_of("destination", DESTINATIONS, None)
        if kept["destination"] is None and not inner.problems:
            inner.note("destination", "is required")
    elif mode == "commit_to_branch":
        kept["targetBranch"] = inner.text("targetBranch", 244, required=True)
    elif mode == "custom":
        kept["instructions"] = inner.text("instructions", 2000, required=True)
    fields.problems += inner.problems
    return kept


def model_settings(fields: Fields) -> Mapping[str, Any]:
    told = fields.table("modelSettings")
    if told is None:
        return {}
    inner = Fields(told, path="modelSettings.")
    kept: dict[str, Any] = {name: inner.number(name) for name in NUMBERS}
    kept |= {name: inner.whole(name, 0) for name in COUNTS}
    kept |= {name: inner.text(name, 64) or None for name in WORDS}
    if (reasoning := inner.table("reasoning")) is not None:
        deeper = Fields(reasoning, path="modelSettings.reasoning.")
        kept["reasoning_effort"] = deeper.text("effort", 64) or kept["reasoning_effort"]
        inner.problems += deeper.problems
    fields.problems += inner.problems
    return {name: value for name, value in kept.items() if value is not None}
