"""Running out: more by the contract's rules, more by a person's yes, else an end that says so."""

from __future__ import annotations

from drydock.agent.bench import Bench
from drydock.agent.desk import Question
from drydock.agent.failed import BudgetSpent, MaxTurns
from drydock.agent.ledger import BY_A_PERSON
from drydock.agent.policy import classes


async def more_steps(bench: Bench) -> None:
    """Before a step that may be one too many."""
    ledger = bench.ledger
    if ledger.steps < ledger.max_steps:
        return
    if more := ledger.extend():
        message = f"The step budget was extended by {more}."
        await bench.desk.emit("agent_step_budget_extended", maxSteps=ledger.max_steps, extendedBy=more, message=message)
        return
    if await _asked(bench, f"{BY_A_PERSON} more steps", f"{ledger.steps} steps are used up"):
        ledger.max_steps += BY_A_PERSON
        message = f"A person extended the step budget by {BY_A_PERSON}."
        await bench.desk.emit(
            "agent_step_budget_extended", maxSteps=ledger.max_steps, extendedBy=BY_A_PERSON, message=message
        )
        return
    error = f"The agent used all of its {ledger.max_steps} steps without finishing."
    await bench.desk.emit("agent_step_budget_exhausted", maxSteps=ledger.max_steps, error=error)
    raise MaxTurns(error)


async def more_commands(bench: Bench, wanted: int) -> None:
    """Before commands that may be too many."""
    ledger = bench.ledger
    while ledger.commands + wanted > ledger.max_commands:
        more = bench.task.budget.commands
        if not await _asked(bench, f"{more} more commands", f"{ledger.commands} commands are used up"):
            raise MaxTurns(f"The agent used all of its {ledger.max_commands} commands without finishing.")
        ledger.max_commands += more


async def more_of_the_rest(bench: Bench) -> None:
    """Before a call of the model: time, tokens and money. A yes gives as much again."""
    ledger = bench.ledger
    while spent := ledger.spent():
        if not await _asked(bench, "as much again", f"{spent} are used up"):
            raise BudgetSpent(f"The agent used up its budget of {spent} without finishing.")
        ledger.allow_again()


async def _asked(bench: Bench, wanted: str, why: str) -> bool:
    if not bench.task.budget.ask:
        return False
    window, escalate = classes.table()["windows"]["budget"]
    message = f"{why}; the agent asks for {wanted}."
    answer = await bench.desk.ask(Question(wanted, "budget", message, bench.step, window, escalate))
    return answer.approved
