"""How an agent's work can end without a finish. A run that hears one of these ends failed, with this cause."""

from __future__ import annotations

from typing import ClassVar, Literal


class AgentFailed(Exception):
    """The agent came to no finish: it kept failing or went in circles."""

    cause: ClassVar[Literal["agent_failed", "max_turns", "budget"]] = "agent_failed"
    """In the vocabulary that all doors share."""
    error_type: ClassVar[str] = "agent_loop_error"
    """In contract polychat, 3.3."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class MaxTurns(AgentFailed):
    """The budget of steps or commands is used up."""

    cause = "max_turns"
    error_type = "model_response_error"


class BudgetSpent(AgentFailed):
    """The budget of time, tokens or money is used up."""

    cause = "budget"


class NoPlan(AgentFailed):
    """The model's plan was empty."""

    error_type = "model_response_error"
