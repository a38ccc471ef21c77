"""The loop: a model decides, the tools act, it sees what came of it, until it finishes. For any model.

What it keeps between two steps comes out of the steps' records, so that a run that is played again comes to the same
place by the same way.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Any

from drydock.agent import answers, talk
from drydock.agent import context as contexts
from drydock.agent import plan as plans
from drydock.agent.action import Action, NotAnAction
from drydock.agent.agent import Finish
from drydock.agent.answers import MOST_CALLS
from drydock.agent.bench import Bench, Observation
from drydock.agent.budget import more_of_the_rest, more_steps
from drydock.agent.context import Context
from drydock.agent.desk import Desk, Instruction
from drydock.agent.failed import AgentFailed, MaxTurns, NoPlan
from drydock.agent.ledger import MOST_IN_A_ROW, MOST_RECOVERIES, MOST_REPEATS, REPEATS, Ledger
from drydock.agent.mind import Mind, answer_from_json, answer_to_json
from drydock.agent.plan import Plan
from drydock.agent.prompts.data import note
from drydock.agent.site import Site
from drydock.agent.strategy import choose
from drydock.agent.task import Task
from drydock.agent.texts import cut
from drydock.agent.tools.table import ACTS, offered
from drydock.errors import DrydockError
from drydock.model.conversation import Answer, Message, Tool

MOST_TOLD_PLAN = 4000
MOST_REASONING = 4000


class Loop:
    """An Agent. One for one run."""

    def __init__(self, mind: Mind, task: Task) -> None:
        self._mind = mind
        self._task = task
        self._chosen = choose(task)
        self._ledger = Ledger(task.budget)
        self._context = Context()
        self._conversation: list[Message] = []
        self._bench: Bench | None = None
        self._said: list[Instruction] = []
        """What a person said before the first step, which is where it waits for."""
        self._recovering = False
        self._summary = ""

    @property
    def conversation(self) -> Sequence[Message]:
        return [message for message in self._conversation if message.role != "system"]

    async def plan(self, desk: Desk, site: Site) -> Plan:
        await self._look_around(desk, site)
        await desk.emit("prompt_strategy_selected", message=self._chosen.reason, promptStrategy=self._chosen.strategy)
        await desk.emit("planning_started", message="planning")
        reply = await self._asked(desk, "plan", talk.planning(self._task, self._chosen, self._context), ())
        if not reply.text.strip():
            raise NoPlan("The model's plan was empty.")
        await desk.emit("planning_completed", plan=reply.text.strip()[:MOST_TOLD_PLAN])
        self._said.extend(await desk.checkpoint("planning"))
        return plans.read(reply.text.strip())

    async def _look_around(self, desk: Desk, site: Site) -> None:
        async def act() -> dict[str, Any]:
            return (await contexts.collect(site, self._task.text)).to_json()

        self._context = Context.from_json(await desk.once("context", act))
        await desk.emit(
            "repo_context_collected",
            message=self._context.message,
            taskInstructionSource=self._context.source,
            hasTaskInstructions=self._context.source != "none",
            hasPrdInstructions=self._context.has_prd,
        )
        self._said.extend(await desk.checkpoint("context"))

    async def work(
        self, plan: Plan, desk: Desk, site: Site, *, repair: str = "", said: Sequence[Instruction] = ()
    ) -> Finish:
        if self._bench is None:
            self._bench = await self._begin(plan, desk, site)
        self._bench.heard.extend(said)
        if repair:
            self._conversation.append(Message("user", note("repair", account=repair)))
        bench = self._bench
        try:
            while not await self._step(bench):
                pass
        except MaxTurns:
            if not repair:
                raise
            # What was finished before stands as it is: the gate has judged it, and judges it again.
        return Finish(
            self._summary,
            bench.plan,
            self._ledger.steps,
            self._ledger.commands,
            self._ledger.usage,
            tuple(self.conversation),
        )

    async def _begin(self, plan: Plan, desk: Desk, site: Site) -> Bench:
        total = self._ledger.max_commands
        await desk.emit("command_batch_ready", commandTotal=total, message=f"budget ready: {total} commands")
        native = self._mind.native_tools
        self._conversation = [
            talk.system(self._task, self._chosen, site.root, offered(self._task), native=native),
            *talk.earlier(self._task),
            talk.kickoff(self._task, self._chosen, self._context, plan.text),
        ]
        return Bench(self._task, desk, site, plan, self._ledger, heard=[*self._said])

    async def _step(self, bench: Bench) -> bool:
        """One answer of the model and what comes of it; whether that was the last."""
        bench.step = self._ledger.steps + 1
        await bench.checkpoint("step")
        self._ledger.continues += sum(said.kind == "continue" for said in bench.heard)
        await more_steps(bench)
        await more_of_the_rest(bench)
        self._ledger.steps += 1
        await bench.emit("agent_step_started", commandCount=self._ledger.commands)
        await self._hear(bench)
        reply = await self._turn(bench)
        if reply.calls:
            await bench.emit("agent_turn", toolNames=[call.name for call in reply.calls])
        try:
            actions = answers.read(reply, native=self._mind.native_tools)
        except NotAnAction as why:
            await self._unusable(bench, reply, str(why))
            return False
        return await self._carry_out(bench, reply, actions)

    async def _hear(self, bench: Bench) -> None:
        """What a person said goes to the model before it answers."""
        for said in bench.heard:
            await bench.emit(
                "run_instruction_received",
                instructionId=said.id,
                instructionKind=said.kind,
                instructionContent=said.text[:500] or None,
            )
            text = note("person", text=said.text) if said.text.strip() else note("go_on")
            self._conversation.append(Message("user", text))
        bench.heard.clear()

    async def _turn(self, bench: Bench) -> Answer:
        tools = [form.tool() for form in offered(self._task)] if self._mind.native_tools else []
        name = f"turn-{self._ledger.steps}"
        return await self._asked(bench.desk, name, talk.fitting(self._conversation), tools, step=bench.step)

    async def _asked(
        self, desk: Desk, name: str, conversation: Sequence[Message], tools: Sequence[Tool], *, step: int = 0
    ) -> Answer:
        async def act() -> dict[str, Any]:
            began = time.monotonic()
            try:
                reply = await self._mind.answer(conversation, tools)
            except DrydockError as wrong:
                if step:
                    await desk.emit("agent_turn_failed", agentStep=step, error=wrong.message)
                raise
            return {"reply": answer_to_json(reply), "ms": int((time.monotonic() - began) * 1000)}

        told = await desk.once(name, act)
        reply = answer_from_json(told["reply"])
        self._ledger.usage += reply.usage
        self._ledger.wall_ms += told["ms"]
        return reply

    async def _carry_out(self, bench: Bench, reply: Answer, actions: Sequence[Action]) -> bool:
        """The actions of one answer in order, until one stops it."""
        observed: list[str] = []
        finished = False
        for action in actions:
            spoken = action.reasoning or (reply.text if reply.calls else "") or reply.thinking
            observation, goes_on = await self._act(bench, action, spoken.strip()[:MOST_REASONING])
            observed.append(observation.text)
            finished = observation.finished
            if finished:
                self._summary = observation.text
            if not goes_on:
                break
        self._remember(reply, actions[0].normal(), observed)
        return finished

    async def _act(self, bench: Bench, action: Action, reasoning: str) -> tuple[Observation, bool]:
        """What came of one action, and whether the next of the same answer may follow."""
        if self._recovering and action.name != "update_plan":
            return Observation(await self._invalid(bench, "the next answer must be update_plan", "reminder")), False
        await bench.emit("agent_decision", action=action.name, reasoning=reasoning or None)
        times, most = self._ledger.repeated(_signature(bench, action)), REPEATS.get(action.name, MOST_REPEATS)
        if times >= most:
            message = f"The agent decided the same action {times} times in a row; it was not carried out."
            await bench.emit("agent_repetition_detected", action=action.name, repeatCount=times, message=message)
            return Observation(self._recover(note("repeated", count=times))), False
        observation = await ACTS[action.name](bench, action)
        self._ledger.unusable = 0
        if action.name == "update_plan":
            self._recovering = False
            self._ledger.recovered()
        if self._ledger.failures >= MOST_IN_A_ROW:
            why = f"{MOST_IN_A_ROW} commands in a row have failed"
            return Observation(f"{observation.text}\n\n{self._recover(why)}"), False
        if times == most - 1 and times > 1:
            return Observation(f"{observation.text}\n\n{note('again')}", observation.finished), not observation.finished
        return observation, not observation.finished

    async def _unusable(self, bench: Bench, reply: Answer, why: str) -> None:
        kind = "unusable_native" if self._mind.native_tools else "unusable"
        text = await self._invalid(bench, why, kind)
        self._remember(reply, cut(reply.text, 2000), [text])

    async def _invalid(self, bench: Bench, why: str, kind: str) -> str:
        await bench.emit("agent_turn_invalid", error=f"The answer was not usable: {why}.")
        self._ledger.unusable += 1
        if self._ledger.unusable >= MOST_IN_A_ROW:
            return self._recover(f"{MOST_IN_A_ROW} answers in a row were not usable: {why}")
        return note(kind, why=why)

    def _recover(self, why: str) -> str:
        self._ledger.recoveries += 1
        if self._ledger.recoveries > MOST_RECOVERIES:
            raise AgentFailed(f"The agent made no progress after {MOST_RECOVERIES} new plans: {why}.")
        self._recovering = True
        self._ledger.recovered()
        return note("recovery", why=why)

    def _remember(self, reply: Answer, normal: str, observed: Sequence[str]) -> None:
        """The answer, and what came of it in the form in which it was asked for: each native call is answered."""
        if not reply.calls:
            said = reply.text if self._mind.native_tools else normal
            self._conversation.append(Message("assistant", said, raw=reply.raw if self._mind.native_tools else None))
            self._conversation.append(Message("user", "\n\n".join(observed)))
            return
        self._conversation.append(Message("assistant", reply.text, reply.calls, raw=reply.raw))
        for at, call in enumerate(reply.calls):
            missing = note("left_out", most=MOST_CALLS) if at >= MOST_CALLS else note("skipped")
            text = observed[at] if at < len(observed) else missing
            self._conversation.append(Message("tool", text, call_id=call.id))


def _signature(bench: Bench, action: Action) -> str:
    """The same for the same decision; looking again is another one when there was something new to see."""
    process = bench.processes.get(action.number("process", 0)) if action.name == "read_output" else None
    return json.dumps([action.name, action.arguments, process.cursor if process else 0], sort_keys=True)
