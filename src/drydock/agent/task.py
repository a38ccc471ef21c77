"""What was asked of an agent, and how much of everything it may use up."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from drydock.model.conversation import Message

TaskType = Literal[
    "feature-implementation", "code-review", "test-suite", "bug-fix", "refactoring", "documentation", "migration"
]
Strategy = Literal["feature-delivery", "bug-fix", "refactor", "test-hardening"]
Trust = Literal["strict", "balanced", "trusted"]
READ_ONLY: frozenset[TaskType] = frozenset({"code-review", "test-suite"})
"""They change nothing: commands by an allow-list, the workspace mounted read-only."""


@dataclass(frozen=True, slots=True)
class Budget:
    steps: int = 48
    commands: int = 30
    """The gate's are not counted."""
    wall_s: float | None = None
    """Time that models and commands took. The run's own deadline is kept by the desk."""
    tokens: int | None = None
    """Input and output together."""
    usd: float | None = None
    command_s: float = 600
    """What one command may take."""
    ask: bool = False
    """Whether a person is asked for more when one of them runs out; else the work ends and says so."""


@dataclass(frozen=True, slots=True)
class Task:
    repo: str
    """As its owner writes it: `owner/name`, or the folder's name."""
    text: str
    """The user's own words."""
    type: TaskType = "feature-implementation"
    strategy: Strategy | Literal["auto"] = "auto"
    trust: Trust = "balanced"
    commit: bool = False
    generate_tests: bool = False
    """A test suite's task may write test files."""
    single_commands: bool = False
    """Contract polychat: a line with chaining, pipes or substitution is refused, not read."""
    budget: Budget = Budget()
    earlier: tuple[Message, ...] = field(default=())
    """The conversation of the run that this one follows."""
