"""How runs end that do not come to their end: budgets, models that are down, time, and people who steer them."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.runs.world import FINISH, MEND, MENDS, SUMS, Life, World, run_step, until, use
from tests.standins.forge import faults
from tests.standins.model import Fault, Step
from tests.standins.wheels import tarball

DOWN = tuple(Fault(status=503) for _ in range(9))
SLOW = (Fault("slow"),)


def test_a_budget_that_is_used_up_ends_the_run_with_what_it_has(world: World, life: Life) -> None:
    steps = (MEND, *[use("read_file", path="sums.py", startLine=n) for n in range(1, 5)])
    shown = life.until_ended(life.start(limits={"steps": 2}, **world.script(*steps)))
    assert (shown["status"], shown["error"]["type"]) == ("failed", "model_response_error"), shown
    assert "a + b" in shown["result"]["diff"]
    assert "agent_step_budget_exhausted" in life.kinds(shown["id"])


def test_money_that_is_used_up_ends_the_run(world: World, life: Life) -> None:
    steps = tuple(
        Step(tools=run_step(f"echo {n}").tools, usage={"input_tokens": 1_000_000, "output_tokens": 1}) for n in range(4)
    )
    shown = life.until_ended(life.start(limits={"usd": 1.5}, **world.script(*steps)))
    assert shown["status"] == "failed"
    assert "1.5 USD" in shown["error"]["message"]


def test_a_model_that_is_down_ends_the_run_and_another_goes_on_from_there(world: World, life: Life) -> None:
    script = world.script(MEND, Step(tools=FINISH.tools, faults=DOWN))
    first = life.until_ended(life.start(commit=True, token=world.token, **script))
    assert (first["status"], first["error"]["type"], first["error"]["retryable"]) == (
        "failed",
        "model_request_error",
        True,
    )
    assert "a + b" in first["result"]["diff"]
    again = world.script(MEND, FINISH)
    reply = life.post({"task": "Go on", "follow_up_of": first["id"], "commit": True, **again}, world.token)
    second = life.until_ended(reply.json()["id"])
    assert second["status"] == "completed", second
    assert world.repository().files(second["result"]["commit"]["sha"])["sums.py"].endswith(b"a + b\n")


def test_a_run_ends_at_its_time(world: World, life: Life) -> None:
    run = life.start(timeout_ms=3000, **world.script(MEND, run_step("sleep 30")))
    shown = life.until_ended(run)
    assert (shown["status"], shown["error"]["type"]) == ("failed", "timeout"), shown
    assert "a + b" in shown["result"]["diff"]


def in_planning(world: World, life: Life) -> tuple[str, str]:
    return life.start(**world.script(*MENDS, plan=Step(text="x", faults=SLOW))), "planning_started"


def in_a_turn(world: World, life: Life) -> tuple[str, str]:
    return life.start(**world.script(Step(tools=MEND.tools, faults=SLOW))), "agent_step_started"


def in_a_command(world: World, life: Life) -> tuple[str, str]:
    return life.start(**world.script(MEND, run_step("sleep 43.43 & sleep 43.43"))), "command_started"


def in_a_check(world: World, life: Life) -> tuple[str, str]:
    plan = Step(text="## Validation commands\n```sh\n./test.sh\n```\n")
    if "acme/slow" not in world.forge.repositories:
        script = ("100755", b"#!/bin/sh\necho begun\nsetsid sleep 43.43\n")
        world.forge.create("acme/slow", {**SUMS, "test.sh": script})
    return life.start("acme/slow", **world.script(MEND, FINISH, plan=plan)), "quality_gate_check_started"


def in_a_clone(world: World, life: Life) -> tuple[str, str]:
    world.forge.create("acme/silent", SUMS)
    world.forge.behave("/acme/silent.git/info/refs", faults.silent)
    return life.start("acme/silent", **world.script(*MENDS)), "repo_clone_started"


def in_a_push(world: World, life: Life) -> tuple[str, str]:
    world.forge.create("acme/still", SUMS)
    world.forge.behave("/acme/still.git/git-receive-pack", faults.silent)
    run = life.start("acme/still", commit=True, token=world.token, **world.script(*MENDS))
    return run, "commit_push_started"


@pytest.mark.parametrize("phase", [in_planning, in_a_turn, in_a_command, in_a_check, in_a_clone, in_a_push])
def test_a_run_is_cancelled_in_any_phase(
    world: World, life: Life, phase: Callable[[World, Life], tuple[str, str]]
) -> None:
    run, event = phase(world, life)
    life.until(run, event)
    if phase in (in_a_command, in_a_check):
        until(lambda: bool(sleepers("43.43")))
    told = life.steer(run, "cancel", reason="enough")
    assert (told["changed"], told["run"]["status"]) == (True, "cancelled")
    until(lambda: not sleepers("43.43"), within=1.5)
    shown = life.until_ended(run)
    assert shown["status"] == "cancelled"
    kinds = life.kinds(run)
    assert kinds[-2:] == ["task_cancelled", "run_cancelled"]
    assert kinds.count("run_cancelled") == 1
    assert shown["result"]["success"] is False
    assert ("diff" in shown["result"]) == (phase in (in_a_command, in_a_check, in_a_push)), shown["result"]
    assert life.steer(run, "cancel")["changed"] is False
    assert life.steer(run, "resume")["changed"] is False
    until(lambda: not (world.folder / "data" / "runs" / run).exists())


def sleepers(seconds: str) -> list[int]:
    """Processes, in whatever box, that sleep for so long."""
    found = []
    for name in os.listdir("/proc"):
        try:
            words = Path(f"/proc/{name}/cmdline").read_bytes() if name.isdigit() else b""
        except (FileNotFoundError, ProcessLookupError):
            continue
        if words == f"sleep\0{seconds}\0".encode():
            found.append(int(name))
    return found


TICKS = "python3 -u -c 'import time; [(print(n), time.sleep(0.1)) for n in range(30)]'"


@pytest.mark.serial
def test_a_command_stands_still_for_three_seconds_and_goes_on(world: World, life: Life) -> None:
    run = life.start(**world.script(MEND, run_step(TICKS), FINISH))
    life.until(run, "command_output")
    assert life.steer(run, "pause", reason="wait")["run"]["status"] == "paused"
    life.until(run, "run_paused")
    told = len(life.client.get(f"/v1/runs/{run}/events?kind=command_output").json()["events"])
    threading.Event().wait(3)
    assert len(life.client.get(f"/v1/runs/{run}/events?kind=command_output").json()["events"]) <= told + 1
    assert life.steer(run, "resume")["changed"]
    shown = life.until_ended(run)
    assert shown["status"] == "completed", shown
    assert "timeout_at" not in shown
    kinds = life.kinds(run)
    assert kinds.count("run_paused") == kinds.count("run_resumed") == kinds.count("command_started") == 1
    assert "".join(output(life, run)).split() == [str(n) for n in range(30)]


def output(life: Life, run: str) -> list[str]:
    return [data["output"] for _, kind, data in life.events(run) if kind == "command_output"]


def test_what_a_person_says_is_heard_before_the_next_decision(world: World, life: Life) -> None:
    script = world.script(run_step("sleep 1"), MEND, FINISH)
    run = life.start(**script)
    life.until(run, "command_started")
    assert life.client.post(f"/v1/runs/{run}/messages", json={"text": "mind the sign"}).status_code == 200
    shown = life.until_ended(run)
    assert shown["status"] == "completed", shown
    assert life.kinds(run).count("run_instruction_received") == 1
    assert "mind the sign" in str(world.model.of(script["model"])[-1].body)
    assert "unprocessedInstructions" not in shown["result"]


def asked(life: Life, run: str) -> dict[str, Any]:
    life.until(run, "command_approval_requested")
    waiting: dict[str, Any] = life.show(run)["waiting"]
    return waiting


INSTALL = "npm install --no-audit --no-fund wide"


def test_a_command_that_a_person_allows_gets_its_package(world: World, life: Life) -> None:
    world.index.publish(tarball("wide"))
    world.forge.create("acme/node", {"package.json": b"{}", ".gitignore": b"node_modules\n"})
    use_it = run_step("node -e 'console.log(require(\"wide\").version)'")
    run = life.start("acme/node", type="refactoring", **world.script(run_step(INSTALL), use_it, FINISH))
    question = asked(life, run)
    assert (question["kind"], question["command"]) == ("network", INSTALL)
    wrong = {"approved": True, "hash": "0" * 64}
    assert life.client.post(f"/v1/runs/{run}/approvals/{question['number']}", json=wrong).status_code in (400, 409)
    right = {"approved": True, "hash": question["hash"]}
    assert life.client.post(f"/v1/runs/{run}/approvals/{question['number']}", json=right).status_code == 200
    shown = life.until_ended(run)
    assert shown["status"] == "completed", shown
    assert "1.0.0" in "".join(output(life, run)), shown["result"]["logs"]
    assert {file["path"] for file in shown["result"]["changedFiles"]} == {"package.json", "package-lock.json"}


def test_a_command_that_a_person_refuses_is_not_run(world: World, life: Life) -> None:
    script = world.script(run_step(INSTALL), FINISH)
    run = life.start(type="refactoring", **script)
    question = asked(life, run)
    body = {"approved": False, "hash": question["hash"], "reason": "not here"}
    assert life.client.post(f"/v1/runs/{run}/approvals/{question['number']}", json=body).status_code == 200
    assert life.until_ended(run)["status"] == "completed"
    assert "command_started" not in life.kinds(run)
    assert "not here" in str(world.model.of(script["model"])[-1].body)


def test_without_a_grant_no_index_is_reached(world: World, life: Life) -> None:
    run = life.start(type="refactoring", **world.script(run_step("npm ci"), FINISH))
    shown = life.until_ended(run)
    assert shown["status"] == "completed", shown
    assert "command_failed" in life.kinds(run)


def test_a_detached_reader_stops_no_run(world: World, life: Life) -> None:
    run = life.start(**world.script(run_step("sleep 1"), *MENDS))
    life.until(run, "command_started")  # reads a part of the stream and hangs up
    began = time.monotonic()
    assert life.until_ended(run)["status"] == "completed"
    assert time.monotonic() - began < 60
