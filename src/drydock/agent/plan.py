"""A plan: free text that a model wrote, and what can be read from it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Plan:
    text: str
    steps: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    validation: tuple[str, ...] = ()
    """Lines of its section `Validation commands`, as written; the gate chooses among them."""
    risks: tuple[str, ...] = ()
