"""`drydock run` and `drydock runs` against a real server with real boxes; the agent in them is plain code."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from drydock.agent.desk import Question
from drydock.run.parts import Job, RunFailed
from tests.e2e.conftest import DRYDOCK, own_environment
from tests.standins.agent import PATCH, scripted
from tests.standins.server import Server

SOON = 30.0
Done = subprocess.CompletedProcess[str]
Call = Callable[..., Done]


async def work(job: Job) -> str:
    desk = job.desk
    await desk.emit("planning_completed", plan="# Plan\n1. look\n2. \x1b[2Jmend")
    if job.spec.task == "fail":
        raise RunFailed("command_execution_error", "the compiler is gone")
    if job.spec.task == "ask":
        answer = await desk.ask(Question("npm ci", "network", "It wants the network.", 1, 60, 30))
        return f"{'approved' if answer.approved else 'refused'} {answer.reason}".strip()
    if job.spec.task == "listen":
        while not (heard := await desk.checkpoint("step")):
            await job.site.run(["/bin/sleep", "0.05"], timeout_s=9)
        return heard[0].text
    if job.spec.task == "stand still":
        await desk.emit("command_started", command="sleep 300")
        await job.site.run(["/bin/sleep", "300"], timeout_s=600)
    await desk.emit("agent_decision", agentStep=1, action="run_command", reasoning="See what is there.")
    await desk.emit("command_started", command="ls")
    await desk.emit("command_output", stream="stdout", output="a.txt\nb")
    await desk.emit("command_output", stream="stdout", output=".txt")
    await desk.emit("command_completed", exitCode=0)
    await desk.emit("quality_gate_check_failed", command="make test", exitCode=2, error="red")
    return "did it"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("data"), makes=scripted(work)) as running:
        yield running


@pytest.fixture
def drydock(server: Server, tmp_path: Path) -> Call:
    def call(*arguments: str, url: str = "") -> Done:
        where = own_environment() | {"DRYDOCK_URL": url or server.url}
        return subprocess.run(
            [DRYDOCK, *arguments], cwd=tmp_path, env=where, capture_output=True, text=True, timeout=60
        )

    return call


class Terminal:
    """A command with a terminal of its own, read and typed into."""

    def __init__(self, process: subprocess.Popen[bytes], fd: int) -> None:
        self.process, self._fd = process, fd
        self.shown = ""

    def until(self, text: str) -> None:
        ends = time.monotonic() + SOON
        while text not in self.shown:
            assert time.monotonic() < ends, self.shown
            if not select.select([self._fd], [], [], 0.2)[0]:
                continue
            try:
                self.shown += os.read(self._fd, 65536).decode("utf-8", "replace")
            except OSError:  # the other end is closed
                assert text in self.shown, self.shown

    def type(self, text: str) -> None:
        os.write(self._fd, text.encode())


@contextmanager
def terminal(server: Server, *arguments: str) -> Iterator[Terminal]:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        ["setsid", "--ctty", DRYDOCK, *arguments],
        env=own_environment() | {"DRYDOCK_URL": server.url, "NO_COLOR": "1", "COLUMNS": "120"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    try:
        yield Terminal(process, ours)
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def started(drydock: Call, task: str, *more: str) -> str:
    done = drydock("run", task, "--detach", *more)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def until(server: Server, run: str, so: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    ends = time.monotonic() + SOON
    while not so(shown := server.get(f"/v1/runs/{run}").json()):
        assert time.monotonic() < ends, shown
        time.sleep(0.02)
    return dict(shown)


def test_a_run_is_watched_to_its_end(drydock: Call) -> None:
    done = drydock("run", "mend it", "--type", "bug-fix", "--budget", "steps=5", "--budget", "0.50")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[1:3] == ["run      queued; its time limit is 900 s", "run      started"]
    assert lines[4:7] == ["plan     # Plan", "         1. look", "         2. \N{REPLACEMENT CHARACTER}[2Jmend"]
    assert lines[7:] == [
        "step 1   run_command: See what is there.",
        "$        ls",
        "       | a.txt",
        "       | b.txt",
        "         exit 0",
        "gate     failed: make test (exit 2)",
        "cost     1 steps, 0 commands, 0 tokens in, 0 out, $0.0000",
        "run      completed: did it",
    ]
    assert "runs diff" in done.stderr


def test_what_was_asked_for_reaches_the_server(drydock: Call, server: Server) -> None:
    run = started(drydock, "mend it", "--repo", "https://git.example/a/b", "--model", "openai:x", "--timeout", "90s")
    shown = server.get(f"/v1/runs/{run}").json()
    assert (shown["repo"], shown["model"], shown["timeout_ms"]) == ("https://git.example/a/b", "openai:x", 90_000)


def test_json_is_one_object_and_nothing_else(drydock: Call) -> None:
    done = drydock("run", "mend it", "--json")
    told = json.loads(done.stdout)
    assert (told["status"], told["result"]["summary"]) == ("completed", "did it")
    assert json.loads(drydock("runs", "show", told["id"], "--json").stdout) == told
    listed = json.loads(drydock("runs", "list", "--json").stdout)
    assert told["id"] in [each["id"] for each in listed]


def test_the_exit_code_tells_how_it_ended(drydock: Call, server: Server) -> None:
    failed = drydock("run", "fail")
    assert (failed.returncode, failed.stdout.splitlines()[-1]) == (1, "failed   the compiler is gone")
    run = started(drydock, "stand still")
    assert drydock("runs", "cancel", run, "--reason", "enough").stdout == f"{run} is cancelled\n"
    assert drydock("runs", "logs", run, "--follow").returncode == 130
    assert drydock("run", "x", url="http://127.0.0.1:9").returncode == 125


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("--budget=lots", "'lots' is no budget: write 2.50 for dollars"),
        ("--budget=steps=-1", "'steps=-1' is no budget"),
        ("--budget=hours=2", "'hours=2' is no budget"),
        ("--timeout=soon", "'soon' is not a time"),
    ],
)
def test_a_mistyped_option_is_told_before_anything_starts(drydock: Call, option: str, said: str) -> None:
    done = drydock("run", "x", option, url="http://127.0.0.1:9")
    assert done.returncode == 2
    assert said in done.stderr


def test_the_patch_goes_where_it_is_asked_to_go(drydock: Call, tmp_path: Path) -> None:
    assert drydock("run", "mend it", "--patch", "out.patch").returncode == 0
    assert (tmp_path / "out.patch").read_text() == PATCH


def test_runs_are_listed_and_shown(drydock: Call) -> None:
    run = json.loads(drydock("run", "mend the \x1b[31mred thing", "--json").stdout)["id"]
    head, *rest = drydock("runs", "list").stdout.splitlines()
    [first] = [line for line in rest if line.startswith(run)]
    assert head.split() == ["ID", "STATUS", "PHASE", "UPDATED", "REPOSITORY", "TASK"]
    assert first.split()[1] == "completed"
    assert "\x1b" not in first
    shown = drydock("runs", "show", run).stdout
    assert "summary  did it" in shown
    assert drydock("runs", "list", "--status", "paused").stderr.startswith("No runs.")


def test_a_run_is_paused_resumed_and_spoken_to(drydock: Call, server: Server) -> None:
    run = started(drydock, "listen")
    until(server, run, lambda shown: shown["status"] == "running")
    assert drydock("runs", "pause", run).stdout == f"{run} is paused\n"
    assert drydock("runs", "pause", run).stdout == f"{run} was paused, and is paused\n"
    assert drydock("runs", "resume", run).stdout == f"{run} goes on\n"
    assert drydock("runs", "say", run, "smaller steps").stdout == "said\n"
    shown = until(server, run, lambda shown: shown["status"] == "completed")
    assert shown["result"]["summary"] == "smaller steps"
    late = drydock("runs", "say", run, "too late")
    assert (late.returncode, late.stderr) == (
        1,
        "drydock: the run has completed\n  Start a run that follows it.\n",
    )


def test_a_question_is_listed_and_answered(drydock: Call, server: Server) -> None:
    run = started(drydock, "ask")
    until(server, run, lambda shown: "waiting" in shown)
    assert "npm ci" in drydock("runs", "list", "--waiting").stdout
    assert drydock("runs", "approve", run, "--no", "--reason", "not today").stdout == "rejected: npm ci\n"
    shown = until(server, run, lambda shown: shown["status"] == "completed")
    assert shown["result"]["summary"] == "refused not today"
    again = drydock("runs", "approve", run)
    assert again.returncode == 1
    assert "waits for no answer" in again.stderr


def test_the_diff_comes_as_it_is_or_of_one_file(drydock: Call) -> None:
    run = json.loads(drydock("run", "mend it", "--json").stdout)["id"]
    assert drydock("runs", "diff", run).stdout == PATCH
    assert drydock("runs", "diff", run, "--file", "a.txt").stdout == PATCH[: PATCH.index("diff --git a/b")]
    missing = drydock("runs", "diff", run, "--file", "none")
    assert (missing.returncode, missing.stderr.splitlines()[0]) == (
        1,
        "drydock: the run's diff does not touch this file",
    )
    assert json.loads(drydock("runs", "diff", run, "--json").stdout)["diff"] == PATCH


def test_logs_are_searched_cut_and_read_by_programs(drydock: Call) -> None:
    run = json.loads(drydock("run", "mend it", "--json").stdout)["id"]
    whole = json.loads(drydock("runs", "logs", run, "--json").stdout)
    assert [each["seq"] for each in whole] == list(range(1, len(whole) + 1))
    tail = json.loads(drydock("runs", "logs", run, "--json", "--tail", "2").stdout)
    assert tail == whole[-2:]
    assert drydock("runs", "logs", run, "--grep", "see WHAT").stdout == "step 1   run_command: See what is there.\n"
    lines = drydock("runs", "logs", run, "--follow", "--json").stdout.splitlines()
    assert [json.loads(line)["seq"] for line in lines] == [each["seq"] for each in whole]


def test_a_run_that_is_not_there_is_said_with_a_remedy(drydock: Call) -> None:
    for command in (
        ("show", "none"),
        ("pause", "none"),
        ("logs", "none"),
        ("diff", "none"),
        ("logs", "none", "--follow"),
    ):
        done = drydock("runs", *command)
        assert (done.returncode, done.stderr.splitlines()[0]) == (1, "drydock: there is no such run"), done.stderr
        assert len(done.stderr.splitlines()) == 2


def test_ctrl_c_asks_and_cancels(server: Server) -> None:
    with terminal(server, "run", "stand still") as shown:
        shown.until("sleep 300")
        shown.type("\x03")
        shown.until("cancel, detach, go-on")
        shown.type("cancel\n")
        shown.until("cancelled: Cancelled by user request")
        assert shown.process.wait(SOON) == 130


def test_ctrl_c_asks_and_leaves_the_run_alone(server: Server) -> None:
    with terminal(server, "run", "stand still") as shown:
        shown.until("sleep 300")
        shown.type("\x03")
        shown.until("cancel, detach, go-on")
        shown.type("detach\n")
        shown.until("the run goes on")
        assert shown.process.wait(SOON) == 0
        run = shown.shown.split()[1]
    assert server.get(f"/v1/runs/{run}").json()["status"] == "running"
    server.post(f"/v1/runs/{run}/cancel", {})


def test_without_a_terminal_ctrl_c_leaves_the_run_alone(server: Server, drydock: Call) -> None:
    environment = own_environment() | {"DRYDOCK_URL": server.url}
    command = [str(DRYDOCK), "run", "stand still"]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        run = process.stdout.readline().split()[1]
        while "sleep 300" not in process.stdout.readline():
            pass
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=SOON)
    assert (process.returncode, told.split(";")[0]) == (0, "drydock: the run goes on")
    assert json.loads(drydock("runs", "cancel", run, "--json").stdout)["was"] == "running"


def test_a_question_is_asked_where_somebody_watches(server: Server) -> None:
    with terminal(server, "run", "ask") as shown:
        shown.until("may it run `npm ci`?")
        shown.type("y\n")
        shown.until("completed: approved")
        assert shown.process.wait(SOON) == 0
