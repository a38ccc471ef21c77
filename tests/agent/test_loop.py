"""The loop with a scripted model, in a real box: order of events, budgets, recovery, replay."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from drydock.agent.agent import Finish
from drydock.agent.desk import Answer, Instruction, Stopped
from drydock.agent.failed import AgentFailed, BudgetSpent, MaxTurns, NoPlan
from drydock.agent.loop import Loop
from drydock.agent.task import Budget, Task
from drydock.errors import Unavailable
from tests.agent.conftest import TASK, Rig
from tests.agent.minds import PLAN, ScriptedMind, called, reply, said
from tests.agent.notebook import Died, NotebookDesk

FALSE = said("run_command", command="false")
FINISH = said("finish", summary="Mended.")


def fails(number: int) -> str:
    return said("run_command", command=f"exit {number}")


def play(rig: Rig, mind: ScriptedMind, task: Task = TASK, *, again: bool = False) -> Finish:
    """The run from its start; with `again` on what an earlier play wrote down."""
    if not again:
        rig.use(task)

    async def act() -> Finish:
        desk = NotebookDesk(rig.book)
        loop = Loop(mind, task)
        return await loop.work(await loop.plan(desk, rig.site), desk, rig.site)

    return rig.fleet.run(act())


def test_a_run_tells_its_events_in_the_contracts_order(rig: Rig) -> None:
    mind = ScriptedMind(
        PLAN,
        said("read_file", path="sums.py", reasoning="see it"),
        said("edit_file", path="sums.py", old="a - b", new="a + b"),
        said("run_command", command="python3 -c 'import sums; print(sums.add(2, 3))'"),
        said("update_plan", plan="nothing left"),
        FINISH,
    )
    finish = play(rig, mind)
    step = ["agent_step_started", "agent_decision"]
    assert rig.book.types() == [
        "repo_context_collected",
        "prompt_strategy_selected",
        "planning_started",
        "planning_completed",
        "command_batch_ready",
        *step,
        "file_read",
        *step,
        "file_changed",
        *step,
        "command_started",
        "command_output",
        "command_completed",
        *step,
        "plan_updated",
        *step,
        "agent_finished",
    ]
    assert (finish.summary, finish.steps, finish.commands, finish.plan.text) == ("Mended.", 5, 1, "nothing left")
    assert finish.usage.input_tokens == 600
    assert rig.book.of("agent_decision")[0] == {
        "type": "agent_decision",
        "agentStep": 1,
        "action": "read_file",
        "reasoning": "see it",
    }
    [event] = rig.book.of("agent_finished")
    assert (event["commandCount"], event["agentStep"], event["plan"], event["summary"]) == (
        1,
        5,
        "nothing left",
        "Mended.",
    )
    assert rig.contents("sums.py").endswith("a + b\n")


def test_the_model_sees_what_came_of_each_step(rig: Rig) -> None:
    mind = ScriptedMind(PLAN, fails(3), said("read_file", path="../x"), FINISH)
    play(rig, mind)
    assert "Exit code: 3" in mind.asked[2][-1].text
    assert mind.asked[2][-2].text == fails(3)
    assert "It was not read" in mind.asked[3][-1].text
    assert [message.role for message in mind.asked[3]] == ["system", "user", "assistant", "user", "assistant", "user"]


def test_native_calls_are_each_answered_and_their_names_told(rig: Rig) -> None:
    mind = ScriptedMind(
        PLAN,
        called(("read_file", {"path": "sums.py"}), ("run_command", {"command": "echo hi"}), text="Looking."),
        called(*[("read_file", {"path": f"{n}"}) for n in range(10)]),
        reply("All done."),
        native=True,
    )
    finish = play(rig, mind)
    assert finish.summary == "All done."
    assert "edit_file" in mind.offered[1]
    assert mind.offered[0] == []
    assert rig.book.of("agent_turn")[0]["toolNames"] == ["read_file", "run_command"]
    assert [event["reasoning"] for event in rig.book.of("agent_decision")[:2]] == ["Looking.", "Looking."]
    turn = mind.asked[2][-3:]
    assert [message.role for message in turn] == ["assistant", "tool", "tool"]
    assert turn[0].raw == {"own": "form"}
    assert "hi" in turn[2].text
    assert "Not carried out" in mind.asked[3][-1].text
    assert [message.call_id for message in mind.asked[3][-10:]] == [f"c{n}" for n in range(10)]


def test_an_unusable_answer_is_told_and_the_third_in_a_row_calls_for_a_new_plan(rig: Rig) -> None:
    mind = ScriptedMind(PLAN, "hm", "hm?", "hm!", "still", said("update_plan", plan="anew"), FINISH)
    assert play(rig, mind).plan.text == "anew"
    assert len(rig.book.of("agent_turn_invalid")) == 4
    assert "no usable answer: the answer holds no action" in mind.asked[2][-1].text
    assert "next answer must be update_plan" in mind.asked[4][-1].text
    assert rig.book.types()[-6:-2] == ["agent_step_started", "agent_decision", "plan_updated", "agent_step_started"]


def test_three_failed_commands_in_a_row_call_for_a_new_plan_and_nothing_else_is_done_before_it(rig: Rig) -> None:
    denied = said("run_command", command="git push")
    mind = ScriptedMind(PLAN, fails(1), denied, fails(2), FINISH, said("update_plan", plan="b"), fails(3), FINISH)
    finish = play(rig, mind)
    assert "3 commands in a row have failed. Stop and think again" in mind.asked[4][-1].text
    assert [event["agentStep"] for event in rig.book.of("agent_turn_invalid")] == [4]
    assert (finish.steps, finish.commands) == (7, 3)


def test_after_four_new_plans_the_run_has_failed(rig: Rig) -> None:
    plan = said("update_plan", plan="again")
    answers = [answer for n in range(5) for answer in (fails(10 + n), fails(20 + n), fails(30 + n), plan)]
    with pytest.raises(AgentFailed, match="no progress after 4 new plans") as failed:
        play(rig, ScriptedMind(PLAN, *answers))
    assert (failed.value.error_type, failed.value.cause) == ("agent_loop_error", "agent_failed")


def test_a_repeated_action_is_warned_of_and_the_third_time_not_carried_out(rig: Rig) -> None:
    same = said("read_file", path="sums.py")
    mind = ScriptedMind(PLAN, same, same, same, said("update_plan", plan="b"), same, FINISH)
    play(rig, mind)
    [event] = rig.book.of("agent_repetition_detected")
    assert (event["action"], event["repeatCount"], event["agentStep"]) == ("read_file", 3, 3)
    assert "Once more is not carried out" in mind.asked[3][-1].text
    assert len(rig.book.of("file_read")) == 3


def test_a_script_is_not_run_twice_in_a_row(rig: Rig) -> None:
    same = said("run_script", code="echo 1", language="shell")
    play(rig, ScriptedMind(PLAN, same, same, said("update_plan", plan="b"), FINISH))
    assert rig.book.of("agent_repetition_detected")[0]["repeatCount"] == 2
    assert len(rig.book.of("script_started")) == 1


def test_looking_at_a_program_that_goes_on_writing_is_no_repetition(rig: Rig) -> None:
    look = said("read_output", process=1)
    start = said("start_process", command="while read x; do echo $x; done")
    talk = [answer for _ in range(4) for answer in (said("send_input", process=1, input="a\n"), look)]
    play(rig, ScriptedMind(PLAN, start, *talk, FINISH))
    assert rig.book.of("agent_repetition_detected") == []
    assert rig.book.types()[-2:] == ["command_completed", "agent_finished"]


def distinct(count: int, tool: str = "read_file") -> list[str]:
    return [said(tool, path=f"f{n}") for n in range(count)]


def test_steps_run_out_after_one_extension_of_its_own(rig: Rig) -> None:
    task = replace(TASK, budget=Budget(steps=3))
    mind = ScriptedMind(PLAN, said("run_command", command="true"), *distinct(30))
    with pytest.raises(MaxTurns) as failed:
        play(rig, mind, task)
    assert failed.value.error_type == "model_response_error"
    [event] = rig.book.of("agent_step_budget_extended")
    assert (event["maxSteps"], event["extendedBy"]) == (15, 12)
    assert rig.book.of("agent_step_budget_exhausted")[0]["maxSteps"] == 15
    assert len(rig.book.of("agent_step_started")) == 15


def test_without_a_command_steps_are_not_extended(rig: Rig) -> None:
    with pytest.raises(MaxTurns):
        play(rig, ScriptedMind(PLAN, *distinct(30)), replace(TASK, budget=Budget(steps=2)))
    assert len(rig.book.of("agent_step_started")) == 2


def test_a_person_who_says_continue_gives_24_steps(rig: Rig) -> None:
    task = replace(TASK, budget=Budget(steps=2))
    rig.use(task)
    rig.book.waiting = [Instruction("i1", "continue", "look at f9")]
    mind = ScriptedMind(PLAN, *distinct(10), FINISH)
    finish = play(rig, mind, task, again=True)
    assert finish.steps == 11
    assert rig.book.of("agent_step_budget_extended")[0]["extendedBy"] == 24


def test_commands_run_out(rig: Rig) -> None:
    commands = [said("run_command", command=f"echo {n}") for n in range(5)]
    with pytest.raises(MaxTurns, match="all of its 2 commands"):
        play(rig, ScriptedMind(PLAN, *commands), replace(TASK, budget=Budget(commands=2)))
    assert len(rig.book.of("command_started")) == 2


def test_tokens_run_out_and_a_person_may_give_as_many_again(rig: Rig) -> None:
    budget = Budget(tokens=300, ask=True)
    task = replace(TASK, budget=budget)
    rig.use(task)
    rig.book.answers = [Answer(True, "")]
    with pytest.raises(BudgetSpent, match="600 tokens") as failed:
        play(rig, ScriptedMind(PLAN, *distinct(30)), task, again=True)
    assert [question.kind for question in rig.book.questions] == ["budget", "budget"]
    assert failed.value.cause == "budget"


def test_what_a_person_says_is_in_the_next_request(rig: Rig) -> None:
    def interrupt() -> str:
        rig.book.waiting = [Instruction("i7", "message", "leave README alone")]
        return said("run_command", command="true")

    mind = ScriptedMind(PLAN, interrupt, FINISH)
    play(rig, mind)
    assert mind.asked[2][-1].text == "A person who watches this run says:\nleave README alone"
    [event] = rig.book.of("run_instruction_received")
    assert (event["instructionId"], event["agentStep"], event["instructionContent"]) == ("i7", 2, "leave README alone")


def test_it_does_not_finish_before_it_has_heard_what_was_said(rig: Rig) -> None:
    def interrupt() -> str:
        rig.book.waiting = [Instruction("i8", "message", "one thing more")]
        return FINISH

    mind = ScriptedMind(PLAN, interrupt, said("finish", summary="With that."))
    assert play(rig, mind).summary == "With that."
    assert len(rig.book.of("agent_finish_rejected")) == 1
    assert len(rig.book.of("agent_finished")) == 1
    assert "one thing more" in mind.asked[2][-1].text


def test_a_model_that_does_not_answer_ends_the_run(rig: Rig) -> None:
    with pytest.raises(Unavailable):
        play(rig, ScriptedMind(PLAN, Unavailable("the model is unavailable")))
    assert rig.book.types()[-2:] == ["agent_step_started", "agent_turn_failed"]
    with pytest.raises(NoPlan):
        play(rig, ScriptedMind("  "))
    assert rig.book.types()[-1] == "planning_started"


@pytest.mark.parametrize("phase", ["context", "planning", "step", "command", "finish"])
def test_a_cancel_takes_effect_at_each_checkpoint(rig: Rig, phase: str) -> None:
    rig.use(TASK)
    rig.book.stop_at = phase
    with pytest.raises(Stopped):
        play(rig, ScriptedMind(PLAN, said("run_command", command="true"), FINISH), again=True)


def test_a_repair_goes_on_with_the_same_conversation_and_what_is_left(rig: Rig) -> None:
    mind = ScriptedMind(PLAN, FINISH, said("run_command", command="true"), said("finish", summary="Now really."))
    rig.use(TASK)

    async def act() -> tuple[Finish, Finish]:
        desk = NotebookDesk(rig.book)
        loop = Loop(mind, TASK)
        first = await loop.work(await loop.plan(desk, rig.site), desk, rig.site)
        said_since = [Instruction("i1", "message", "and mind the tests")]
        return first, await loop.work(first.plan, desk, rig.site, repair="make test failed", said=said_since)

    first, second = rig.fleet.run(act())
    assert (first.summary, second.summary, second.steps) == ("Mended.", "Now really.", 3)
    assert "make test failed" in mind.asked[2][-2].text
    assert "mind the tests" in mind.asked[2][-1].text
    assert rig.book.types().count("command_batch_ready") == 1
    assert rig.book.types().count("agent_finished") == 2


def test_a_repair_without_steps_left_leaves_the_work_as_it_was(rig: Rig) -> None:
    rig.use(TASK)
    task = replace(TASK, budget=Budget(steps=1))

    async def act() -> Finish:
        desk = NotebookDesk(rig.book)
        loop = Loop(ScriptedMind(PLAN, FINISH), task)
        first = await loop.work(await loop.plan(desk, rig.site), desk, rig.site)
        return await loop.work(first.plan, desk, rig.site, repair="make test failed")

    assert rig.fleet.run(act()).summary == "Mended."


STEPS = ["context", "plan", "turn-1", "read-1", "turn-2", "edit-2", "turn-3", "command-3", "turn-4"]


@pytest.mark.parametrize("dies_in", STEPS)
def test_a_run_played_again_does_nothing_twice_and_tells_nothing_twice(rig: Rig, dies_in: str) -> None:
    def mind() -> ScriptedMind:
        return ScriptedMind(
            PLAN,
            said("read_file", path="sums.py"),
            said("edit_file", path="sums.py", old="a - b", new="a + b"),
            said("run_command", command="echo x >> log; cat log"),
            FINISH,
        )

    rig.use(TASK)
    rig.book.die_in = dies_in
    with pytest.raises(Died):
        play(rig, mind(), again=True)
    finish = play(rig, mind(), again=True)
    assert (finish.summary, finish.steps) == ("Mended.", 4)
    interrupted = [event for event in rig.book.of("command_failed") if "interrupted" in event["error"]]
    assert len(interrupted) == (dies_in == "command-3")
    if dies_in != "command-3":
        assert rig.contents("log") == "x\n"
    assert list(rig.book.steps) == STEPS
    told: list[Any] = [event["agentStep"] for event in rig.book.of("agent_decision")]
    assert told == [1, 2, 3, 4]
