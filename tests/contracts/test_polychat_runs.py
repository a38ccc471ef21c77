"""Contract `polychat`, section 3.4: the order of events, scenario by scenario, as a client sees it on the wire.

Everything in it is real but the two services outside: a forge and a model, over sockets of their own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import httpx
import pytest

from tests.standins.forge import Forge, git
from tests.standins.model import Fault, ModelServer, Step, ToolUse
from tests.standins.server import Server
from tests.standins.tokens import SECRET
from tests.standins.users import User, told

SCRIPTS = 40
CHECK = "python3 -m unittest -q"
PLAN = f"Story L-2 (Sums): mend `add` in sums.py.\n\n## Validation commands\n```sh\n{CHECK}\n```\n"
SUMS = {
    "README.md": b"# Sums\n",
    "sums.py": b"def add(a, b):\n    return a - b\n",
    "test_sums.py": b"import unittest\n\nfrom sums import add\n\n\nclass Sums(unittest.TestCase):\n"
    b"    def test_add(self):\n        self.assertEqual(add(2, 3), 5)\n",
}
STORY = {"id": "L-2", "title": "Sums", "description": "add adds", "priority": 1, "passes": False}
PRD = json.dumps({"project": "ledger", "userStories": [STORY]}).encode()
LIVE = ("command_output", "quality_gate_output", "agent_turn")
"""Told besides the contract's sequence, as output comes and for models that call tools natively."""


def use(tool: str, **fields: Any) -> Step:
    return Step(tools=(ToolUse(tool, fields),))


def run(command: str) -> Step:
    return use("run_command", command=command)


PLANNING = Step(text=PLAN)
READ = use("read_file", path="sums.py", reasoning="find it")
MEND = use("edit_file", path="sums.py", old="a - b", new="a + b")
FINISH = use("finish", summary="add adds.")
DOWN = tuple(Fault(status=503) for _ in range(9))

BEGIN = ["run_started", "task_started", "repo_clone_started", "repo_clone_completed"]
BRANCH = ["git_branch_created"]
THINK = ["repo_context_collected", "prompt_strategy_selected", "planning_started"]
PLANNED = ["planning_completed", "command_batch_ready"]
TURN = ["agent_step_started", "agent_decision"]
RAN = [*TURN, "command_started", "command_completed"]
FAILED = [*TURN, "command_started", "command_failed"]
CHANGED = [*TURN, "file_changed"]
FINISHED = [*TURN, "agent_finished"]
GATE = ["quality_gate_commands_selected", "quality_gate_started", "quality_gate_check_started"]
PASSED = [*GATE, "quality_gate_check_passed", "quality_gate_completed"]
STORY_TOLD = ["story_tracker_selected", "story_tracker_prd_updated", "story_tracker_progress_updated"]
END = ["story_tracker_skipped", "diff_generated", "run_completed"]


class World:
    """A server between a forge and a model."""

    def __init__(self, forge: Forge, model: ModelServer, server: Server) -> None:
        self.forge, self.model, self.server = forge, model, server
        self._numbers = iter(range(1, SCRIPTS + 1))
        forge.create("acme/sums", SUMS)
        forge.create("acme/ledger", {**SUMS, "prd.json": PRD})
        forge.create("acme/green", {**SUMS, "sums.py": b"def add(a, b):\n    return a + b\n"})

    def script(self, *steps: Step, plan: Step | None = PLANNING) -> str:
        """Name of a model that is played this way."""
        name = f"work-{next(self._numbers)}"
        self.model.play(name, *steps, plan=plan)
        return name

    def execute(self, *steps: Step, plan: Step | None = PLANNING, **body: Any) -> list[dict[str, Any]]:
        """The events of a run, as its client gets them."""
        asked = {"repo": "acme/sums", "task": "Fix add", "model": self.script(*steps, plan=plan), **body}
        reply = User(self.server).execute(token=self.forge.tokens.issue(), **asked)
        assert reply.status_code == 200, reply.text
        return told(reply.text)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with Forge() as forge, ModelServer() as model, ExitStack() as owned:
        names = [f"work-{n}" for n in range(1, SCRIPTS + 1)]
        aliases: dict[str, Any] = {
            name: {"model": "openai:scripted", "address": f"{model.address(name)}/v1"} for name in names
        }
        aliases["plain"] = {"model": "openai:scripted", "address": f"{model.address('plain')}/v1", "tools": False}
        settings: Mapping[str, Any] = {
            "jwt_secret": SECRET,
            "github_server_url": forge.origin,
            "git_hosts_allow": forge.host,
            "models": aliases,
            "max_runs": 8,
        }
        server = owned.enter_context(Server(tmp_path_factory.mktemp("data"), **settings))
        yield World(forge, model, server)


def kinds(events: Sequence[Mapping[str, Any]]) -> list[str]:
    return [event["type"] for event in events if event["type"] not in LIVE]


def one(events: Sequence[Mapping[str, Any]], kind: str) -> Mapping[str, Any]:
    [found] = [event for event in events if event["type"] == kind]
    return found


def test_success_with_a_commit_asked_for(world: World) -> None:
    bare = world.forge.repositories["acme/ledger"]
    main = bare.find("main")
    events = world.execute(READ, MEND, run(CHECK), FINISH, repo="acme/ledger", shouldCommit=True, taskType="bug-fix")
    assert kinds(events) == [
        *(*BEGIN, *BRANCH, *THINK, *PLANNED),
        *(*TURN, "file_read", *CHANGED, *RAN, *FINISHED),
        *(*PASSED, *STORY_TOLD, "diff_generated"),
        *("commit_created", "commit_push_started", "commit_pushed", "run_completed"),
    ]
    branch = one(events, "git_branch_created")["branchName"]
    assert branch.startswith("polychat/fix-")
    assert one(events, "repo_context_collected")["taskInstructionSource"] == "prd"
    assert one(events, "prompt_strategy_selected")["promptStrategy"] == "bug-fix"
    assert one(events, "quality_gate_completed")["message"].startswith("Quality gate passed (1/1 checks passed).")
    result = one(events, "run_completed")["result"]
    assert (result["success"], result["branchName"], result["gate"]["passed"]) == (True, branch, True)
    assert result["commit"]["pushed"] is True
    assert bare.find(branch) == result["commit"]["sha"] == one(events, "commit_created")["commitSha"]
    assert bare.find("main") == main
    delivered = bare.files(bare.find(branch))
    assert delivered["sums.py"].endswith(b"a + b\n")
    assert json.loads(delivered["prd.json"])["userStories"][0]["passes"] is True
    assert b"L-2 Sums :: PASSED :: Quality gate passed" in delivered["progress.txt"]
    assert f"$ {CHECK}\nexit_code=0" in result["logs"]
    assert f"$ [quality-gate] {CHECK}" in result["logs"]
    assert "add adds." in result["summary"]
    assert [event["agentStep"] for event in events if event["type"] == "agent_step_started"] == [1, 2, 3, 4]
    assert all(event["runId"] and event["timestamp"] for event in events)


def test_no_commit_asked_for(world: World) -> None:
    events = world.execute(MEND, FINISH)
    assert kinds(events) == [*BEGIN, *THINK, *PLANNED, *CHANGED, *FINISHED, *PASSED, *END]
    result = one(events, "run_completed")["result"]
    assert "+    return a + b" in result["diff"]
    assert "branchName" not in result
    assert [file["path"] for file in result["changedFiles"]] == ["sums.py"]


@pytest.mark.long
@pytest.mark.parametrize("kind", ["code-review", "test-suite"])
def test_a_task_that_only_reads(world: World, kind: str) -> None:
    tries = (use("write_file", path="new.txt", content="x"), READ, run("touch new.txt"), FINISH)
    events = world.execute(*tries, repo="acme/ledger", taskType=kind, shouldCommit=True)
    found = kinds(events)
    assert found[: len(BEGIN + THINK)] == [*BEGIN, *THINK]
    assert not {"git_branch_created", "commit_created", "commit_skipped", "file_changed"} & set(found)
    assert found[-3:] == END
    assert one(events, "diff_generated")["hasChanges"] is False
    assert [kind for kind in found if kind.startswith("story_tracker")] == ["story_tracker_skipped"]


@pytest.mark.long
def test_no_gate_command(world: World) -> None:
    events = world.execute(MEND, FINISH, plan=Step(text="Mend it. Add tests for add."))
    assert kinds(events)[-5:] == ["quality_gate_commands_selected", "quality_gate_skipped", *END]
    selected = one(events, "quality_gate_commands_selected")
    assert (selected["commandTotal"], selected["commands"]) == (0, [])
    assert one(events, "run_completed")["result"]["gate"]["skipped"] is True


BREAK = use("edit_file", path="sums.py", old="a + b", new="a * b")


def test_a_gate_that_fails(world: World) -> None:
    plan = Step(text=f"## Validation commands\n```sh\n{CHECK}\npython3 -m unittest -v test_sums\n```\n")
    events = world.execute(BREAK, FINISH, repo="acme/green", plan=plan, shouldCommit=True, repairRounds=0)
    found = kinds(events)
    assert found[-4:] == ["story_tracker_skipped", "diff_generated", "commit_skipped", "run_completed"]
    assert found.count("quality_gate_check_failed") == 2, "all checks run"
    last = one(events, "run_completed")["result"]
    assert (last["success"], last["gate"]["passed"]) == (True, False)
    assert one(events, "quality_gate_completed")["message"].startswith("Quality gate failed (0/2 checks passed).")
    assert one(events, "commit_skipped")["message"] in last["summary"]
    assert "branchName" not in last


@pytest.mark.long
def test_a_gate_that_fails_is_given_back_to_the_agent(world: World) -> None:
    mends = use("edit_file", path="sums.py", old="a * b", new="b + a")
    events = world.execute(BREAK, FINISH, mends, FINISH, repo="acme/green", repairRounds=1)
    gates = [event["message"] for event in events if event["type"] == "quality_gate_completed"]
    assert [message.split(" (")[0] for message in gates] == ["Quality gate failed", "Quality gate passed"]
    assert one(events, "run_completed")["result"]["gate"]["passed"] is True


@pytest.mark.long
def test_commands_that_the_policy_refuses(world: World) -> None:
    refused = ["git push origin main", "ls && pwd", "echo $(id)", "ls | wc", "x" * 501, "rm -rf /"]
    steps = [step for n, command in enumerate(refused) for step in (run(command), run(f"echo {n}"))]
    events = world.execute(*steps, FINISH)
    told_of = [*TURN, "command_failed", *RAN] * len(refused)
    assert kinds(events)[len(BEGIN + THINK + PLANNED) :][: len(told_of)] == told_of
    for event in events:
        if event["type"] == "command_failed":
            assert not {"commandIndex", "exitCode"} & set(event)
            assert event["error"]
    assert kinds(events)[-1] == "run_completed"


@pytest.mark.parametrize(
    ("fault", "retryable"), [(DOWN, True), ((Fault(status=401),) * 9, False)], ids=["unavailable", "unauthorized"]
)
def test_a_model_that_fails_in_planning(world: World, fault: tuple[Fault, ...], retryable: bool) -> None:
    events = world.execute(Step(text="x", faults=fault), plan=None)
    assert kinds(events) == [*BEGIN, *THINK, "task_failed", "run_failed"]
    failed = one(events, "task_failed")
    assert (failed["errorType"], failed["retryable"]) == ("model_request_error", retryable)
    assert one(events, "run_failed")["errorType"] == "model_request_error"


@pytest.mark.long
def test_a_model_that_fails_in_the_loop_keeps_the_work_so_far(world: World) -> None:
    events = world.execute(MEND, Step(tools=FINISH.tools, faults=DOWN))
    found = kinds(events)
    assert found[-4:] == ["agent_step_started", "agent_turn_failed", "task_failed", "run_failed"]
    assert "+    return a + b" in one(events, "run_failed")["result"]["diff"]
    assert one(events, "task_failed")["retryable"] is True


def test_a_model_that_is_none(world: World) -> None:
    events = world.execute(FINISH, model="mistral-large")
    failed = one(events, "task_failed")
    assert (failed["errorType"], failed["retryable"]) == ("model_request_error", False)
    assert "mistral-large" in failed["error"]


@pytest.mark.long
def test_an_answer_that_is_no_action(world: World) -> None:
    """Of a model without tools, which answers in the contract's JSON form; an alias of the action's name will do."""
    done = Step(text='So: ```json\n{"action":" Complete ","summary":"nothing to do"}\n```')
    world.model.play("plain", Step(text="hm, {let me think"), done, plan=PLANNING)
    events = world.execute(model="plain")
    assert kinds(events)[len(BEGIN + THINK + PLANNED) :][:2] == ["agent_step_started", "agent_turn_invalid"]
    assert one(events, "agent_finished")["summary"] == "nothing to do"
    assert kinds(events)[-1] == "run_completed"


@pytest.mark.long
def test_the_third_command_that_fails_in_a_row_leads_to_another_plan(world: World) -> None:
    fails = [run(f"python3 -c 'raise SystemExit({n})'") for n in (1, 2, 3)]
    replan = use("update_plan", plan="Look before you run.\n\n## Validation commands\n```sh\n" + CHECK + "\n```\n")
    events = world.execute(*fails, MEND, replan, MEND, FINISH)
    loop = kinds(events)[len(BEGIN + THINK + PLANNED) :]
    assert loop[: 3 * len(FAILED)] == FAILED * 3
    assert loop[3 * len(FAILED) :][:2] == ["agent_step_started", "agent_turn_invalid"]
    assert "plan_updated" in loop
    assert loop[-1] == "run_completed"


@pytest.mark.long
def test_steps_that_are_used_up(world: World) -> None:
    reads = [use("read_file", path="sums.py", startLine=n, endLine=n) for n in range(1, 60)]
    events = world.execute(*reads)
    assert kinds(events)[-2:] == ["task_failed", "run_failed"]
    assert one(events, "task_failed")["errorType"] == "model_response_error"
    assert [event["type"] for event in events].count("agent_step_started") == 48


@pytest.mark.parametrize("answer", ["approved", "rejected"])
def test_a_command_that_needs_approval(world: World, answer: str) -> None:
    user = User(world.server)
    asked = user.start("Fix add", repo="acme/sums", model=world.script(run("pip install nothing-of-that-name"), FINISH))
    request = user.until_told(asked["runId"], "command_approval_requested")
    assert (request["command"], request["approvalStatus"]) == ("pip install nothing-of-that-name", "pending")
    body = {"kind": "approval_response", "requestId": request["approvalId"], "approvalStatus": answer}
    assert user.post(f"/runs/{asked['runId']}/instructions", body).status_code == 200
    events = user.until(asked["runId"], "completed")["events"]
    found = [kind for kind in kinds(events) if "approval" in kind or kind.startswith("command_")]
    wanted = ["command_batch_ready", "command_approval_requested", "command_approval_resolved"]
    assert found == (wanted if answer == "rejected" else [*wanted, "command_started", "command_failed"])


def test_what_is_said_is_in_the_next_request_to_the_model(world: World) -> None:
    user = User(world.server)
    name = world.script(run("sleep 1"), FINISH)
    asked = user.start("Fix add", repo="acme/sums", model=name)
    user.until_told(asked["runId"], "command_started")
    user.post(f"/runs/{asked['runId']}/instructions", {"content": "leave the interface alone"})
    events = user.until(asked["runId"], "completed")["events"]
    assert one(events, "run_instruction_received")["instructionContent"] == "leave the interface alone"
    sent = [json.dumps(each.body) for each in world.model.asked if each.script == name]
    assert ["leave the interface alone" in text for text in sent] == [False, False, True]


def test_cancel_while_a_command_runs(world: World) -> None:
    user = User(world.server)
    asked = user.start("Fix add", repo="acme/sums", model=world.script(MEND, run("sleep 300"), FINISH))
    user.until_told(asked["runId"], "command_started")
    assert user.post(f"/runs/{asked['runId']}/cancel", {"reason": "enough"}).json()["aborted"] is True
    stream = told(user.get(f"/runs/{asked['runId']}/events/stream").text)
    assert kinds(stream)[-3:] == ["command_started", "task_cancelled", "run_cancelled"]
    result = one(stream, "run_cancelled")["result"]
    assert result["success"] is False
    assert "+    return a + b" in result["diff"]
    assert result["logs"].startswith("$ git clone acme/sums\nexit_code=0")


def test_a_repository_that_is_none(world: World) -> None:
    events = world.execute(FINISH, repo="acme/none")
    assert kinds(events) == ["run_started", "task_started", "repo_clone_started", "task_failed", "run_failed"]
    assert one(events, "task_failed")["errorType"] == "repository_error"


def test_without_a_credential_the_commit_stays_here(world: World) -> None:
    user = User(world.server)
    body = {"repo": "acme/sums", "task": "Fix add", "installationId": 7, "shouldCommit": True}
    reply = user.post("/runs/execute-stream", {**body, "model": world.script(MEND, FINISH)})
    assert reply.headers["content-type"] == "text/event-stream"
    events = told(reply.text)
    assert kinds(events)[-2:] == ["commit_created", "run_completed"]
    assert one(events, "run_completed")["result"]["commit"]["pushed"] is False


def test_a_run_that_follows_another_goes_on_on_its_branch(world: World) -> None:
    user, token = User(world.server), world.forge.tokens.issue()
    asked: dict[str, Any] = {"repo": "acme/sums", "token": token, "shouldCommit": True, "accept": "application/json"}
    first = user.execute(task="Fix add", model=world.script(MEND, FINISH), runId="first", **asked).json()
    more = use("write_file", path="more.txt", content="more\n")
    name = world.script(MEND, FINISH, more, FINISH)  # the conversation goes on, and so does the script
    second = user.execute(task="Write more", model=name, followUpOf="first", **asked)
    result = second.json()
    assert result["success"], result
    assert result["branchName"] == first["branchName"]
    bare = world.forge.repositories["acme/sums"]
    assert bare.find(first["branchName"]) == result["commit"]["sha"]
    parent = git(bare.path, "rev-parse", f"{result['commit']['sha']}^").decode().strip()
    assert parent == first["commit"]["sha"]
    assert {"sums.py", "more.txt"} <= set(bare.files(result["commit"]["sha"]))
    assert any("add adds." in json.dumps(each.body) for each in world.model.asked if each.script == name)
    run_id = second.headers["x-sandbox-run-id"]
    assert "git_branch_created" not in kinds(user.show(run_id)["events"])


@pytest.mark.long
@pytest.mark.long
def test_a_run_ends_at_its_time(world: World) -> None:
    events = world.execute(MEND, run("sleep 300"), timeoutSeconds=30)
    assert kinds(events)[-2:] == ["task_failed", "run_failed"]
    for kind in ("task_failed", "run_failed"):
        assert one(events, kind)["errorType"] == "timeout"
        assert one(events, kind)["error"] == "Sandbox run timed out after 30 seconds"
    assert "+    return a + b" in one(events, "run_failed")["result"]["diff"]


def test_no_secret_is_told_to_anybody(world: World) -> None:
    user = User(world.server)
    forge_token = world.forge.tokens.issue()
    looks = (run("env"), run("git config --list"), run("cat .git/config"), MEND, FINISH)
    reply = user.execute(
        token=forge_token, repo="acme/sums", task="Fix add", shouldCommit=True, model=world.script(*looks)
    )
    assert one(told(reply.text), "run_completed")["result"]["commit"]["pushed"] is True
    seen = [reply.text, user.get("/runs").text, world.server.log.getvalue()]
    seen += [json.dumps(each.body) for each in world.model.asked]
    for secret in (forge_token, SECRET):
        assert not any(secret in text for text in seen)


def test_the_client_may_ask_for_the_result_alone(world: World) -> None:
    user = User(world.server)
    reply: httpx.Response = user.execute(
        accept="application/json", repo="acme/sums", task="Fix add", model=world.script(MEND, FINISH)
    )
    result = reply.json()
    assert list(result)[:4] == ["success", "logs", "diff", "summary"]
    assert result["usage"]["steps"] == 2
