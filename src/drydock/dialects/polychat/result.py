"""The result object of a run, as the contract orders it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

FIELDS = ("success", "logs", "diff", "summary", "error", "errorType", "branchName", "retryable")


def result_of(result: Mapping[str, Any] | None) -> dict[str, Any]:
    """Nothing in it is null."""
    told = without_nulls({"success": False, "logs": "", **(result or {})})
    first = [name for name in FIELDS if name in told and (told[name] != "" or name == "logs")]
    more = [name for name in told if name not in FIELDS]
    return {name: told[name] for name in (*first, *more)}


def without_nulls(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: without_nulls(each) for name, each in value.items() if each is not None}
    return value
