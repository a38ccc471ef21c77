"""What was asked of a run, as it is kept: plain values and never a credential."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from drydock.agent.task import Strategy, TaskType, Trust

READ_ONLY: frozenset[TaskType] = frozenset({"code-review", "test-suite"})


@dataclass(frozen=True, slots=True)
class Limits:
    """What the run may use up. None is no limit of its own."""

    steps: int = 48
    commands: int = 30
    tokens: int | None = None
    usd: float | None = None
    command_s: float = 600
    wall_s: float | None = None
    """Time that models and commands may take together."""


@dataclass(frozen=True, slots=True)
class Spec:
    task: str
    """The user's own words, trimmed."""
    repo: str = ""
    """`owner/name`, a URL, or a folder that the operator allows; empty is an empty workspace."""
    branch: str = ""
    """What to start from; empty is the repository's own default."""
    new_branch: str = ""
    """What a commit goes to; empty is `drydock/run-ID`."""
    task_type: TaskType = "feature-implementation"
    model: str = ""
    """Empty is the server's default."""
    strategy: Strategy | Literal["auto"] = "auto"
    trust: Trust = "balanced"
    commit: bool = False
    generate_tests: bool = False
    clone_depth: int = 1
    timeout_ms: int = 900_000
    timeout_requested_ms: int | None = None
    """Set when more was asked for than this server gives."""
    repair_rounds: int = 2
    single_commands: bool = False
    ask_for_more: bool = False
    limits: Limits = field(default_factory=Limits)
    delivery: Mapping[str, Any] = field(default_factory=dict)
    """The delivery policy, when there is one."""
    model_settings: Mapping[str, Any] = field(default_factory=dict)
    follow_up_of: str | None = None
    announced: bool = True
    """Its journal begins with `run_queued`. Not where the contract of its door has no word for waiting."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """What a door keeps for its own projections."""

    @property
    def commits(self) -> bool:
        return self.commit and (self.task_type not in READ_ONLY or self.generate_tests)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Spec:
        return cls(**{**data, "limits": Limits(**data["limits"])})
