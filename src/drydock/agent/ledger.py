"""What a run's agent has used up, and what it may: the table of contract polychat, 4.4."""

from __future__ import annotations

from dataclasses import dataclass, field

from drydock.agent.task import Budget
from drydock.model.usage import Usage

MOST_IN_A_ROW = 3
"""Failed commands, and unusable answers."""
MOST_RECOVERIES = 4
MOST_EXTENSIONS = 2
BY_A_PERSON = 24
BY_ITSELF = 12
REPEATS = {"run_parallel": 2, "run_script": 2}
MOST_REPEATS = 3


@dataclass(slots=True)
class Ledger:
    budget: Budget
    steps: int = 0
    commands: int = 0
    usage: Usage = field(default_factory=Usage)
    wall_ms: int = 0
    """Time in models and commands, from their records: the same when the run is played again."""
    max_steps: int = 0
    max_commands: int = 0
    continues: int = 0
    """Instructions to go on that have not been used yet."""
    extensions: int = 0
    extended_itself: bool = False
    allowances: int = 1
    """How many times over the budgets of time, tokens and money are given."""
    failures: int = 0
    unusable: int = 0
    recoveries: int = 0
    last: str = ""
    repeats: int = 0

    def __post_init__(self) -> None:
        self.max_steps, self.max_commands = self.budget.steps, self.budget.commands

    def extend(self) -> int:
        """More steps by the contract's rules: how many, or none."""
        if self.extensions >= MOST_EXTENSIONS:
            return 0
        if self.continues:
            self.continues -= 1
            more = BY_A_PERSON
        elif self.commands and self.commands < self.max_commands and not self.extended_itself:
            self.extended_itself = True
            more = BY_ITSELF
        else:
            return 0
        self.extensions += 1
        self.max_steps += more
        return more

    def spent(self) -> str:
        """Which of time, tokens and money is used up, in words; or nothing."""
        tokens, times = self.usage.input_tokens + self.usage.output_tokens, self.allowances
        budget = self.budget
        if budget.wall_s is not None and self.wall_ms >= budget.wall_s * 1000 * times:
            return f"{budget.wall_s * times:g} s of working time"
        if budget.tokens is not None and tokens >= budget.tokens * times:
            return f"{budget.tokens * times} tokens"
        if budget.usd is not None and self.usage.cost_usd is None:
            return "money, which cannot be counted because the price of this model is not known"
        if budget.usd is not None and float(self.usage.cost_usd or 0) >= budget.usd * times:
            return f"{budget.usd * times:g} USD"
        return ""

    def allow_again(self) -> None:
        self.allowances += 1

    def repeated(self, signature: str) -> int:
        """How many times in a row this has now been decided."""
        self.repeats = self.repeats + 1 if signature == self.last else 1
        self.last = signature
        return self.repeats

    def command_ended(self, *, well: bool) -> None:
        self.failures = 0 if well else self.failures + 1

    def recovered(self) -> None:
        self.failures = self.unusable = self.repeats = 0
        self.last = ""
