"""How an agent's work can end without a finish. A run that hears one of these ends failed, with this cause."""

from __future__ import annotations

from typing import ClassVar

from drydock.errors import DrydockError


class AgentFailed(DrydockError):
    """The agent came to no finish: it kept failing or going in circles."""

    code = "agent_failed"
    status = 500
    hint = "Look at the last steps of the run; a narrower task or another model may help. The work so far is kept."
    error_type: ClassVar[str] = "agent_loop_error"
    """Its name in contract polychat, 3.3."""


class MaxTurns(AgentFailed):
    """The budget of steps or commands is used up."""

    code = "max_turns"
    hint = "Continue the run, or start it again with a larger budget. The work so far is kept."
    error_type = "model_response_error"


class BudgetSpent(AgentFailed):
    """The budget of time, tokens or money is used up."""

    code = "budget"
    hint = "Continue the run, or start it again with a larger budget. The work so far is kept."
