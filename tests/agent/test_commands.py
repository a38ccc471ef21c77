"""Commands and scripts in a real box: policy, approval, events, what the model is told."""

from __future__ import annotations

from dataclasses import replace

import pytest

from drydock.agent.desk import Answer
from drydock.agent.failed import MaxTurns
from drydock.agent.task import Budget
from tests.agent.conftest import TASK, Rig


def test_a_command_runs_in_the_repository_and_is_told_as_the_contract_says(rig: Rig) -> None:
    said = rig.do("run_command", command="cat sums.py; echo oops >&2; exit 3")
    assert said.startswith("Command: cat sums.py; echo oops >&2; exit 3\nSuccess: no\nExit code: 3\nstdout:\n```\ndef")
    assert said.endswith("stderr:\n```\noops\n```")
    assert rig.book.types() == ["command_started", "command_output", "command_output", "command_failed"]
    failed = rig.book.of("command_failed")[0]
    assert (failed["commandIndex"], failed["commandTotal"], failed["exitCode"], failed["error"]) == (1, 30, 3, "oops")
    assert rig.book.changes == 1


def test_output_is_told_while_it_comes_and_none_of_it_is_lost(rig: Rig) -> None:
    rig.do("run_command", command="seq 1 20000; echo end")
    frames = rig.book.of("command_output")
    assert all(len(frame["output"]) <= 5000 for frame in frames)
    assert "".join(frame["output"] for frame in frames) == "".join(f"{n}\n" for n in range(1, 20001)) + "end\n"


def test_a_command_at_its_time_limit_is_stopped_and_said_to_be(rig: Rig) -> None:
    rig.use(replace(TASK, budget=Budget(command_s=0.2)))
    said = rig.do("run_command", command="sleep 30")
    assert "Exit code: none\nIt was stopped at its time limit." in said
    assert rig.book.of("command_failed")[0]["error"].startswith("It was stopped at its time limit.")
    assert "exitCode" not in rig.book.of("command_failed")[0]


def test_what_the_policy_refuses_never_starts_and_costs_no_command(rig: Rig) -> None:
    said = rig.do("run_command", command="git push")
    assert "refused by the command policy" in said
    [failed] = rig.book.of("command_failed")
    assert "commandIndex" not in failed
    assert "exitCode" not in failed
    assert (rig.bench.ledger.commands, rig.bench.ledger.failures) == (0, 1)
    assert rig.site.networked == []


def test_a_command_that_is_asked_for_runs_after_a_yes_with_the_grant(rig: Rig) -> None:
    rig.book.answers = [Answer(True, "")]
    rig.do("run_command", command="pip install --help")
    [question] = rig.book.questions
    assert (question.command, question.kind, question.window_s, question.escalate_s) == (
        "pip install --help",
        "network",
        120,
        30,
    )
    assert rig.site.networked == ["pip install --help"]
    assert rig.book.types()[0] == "command_started"


def test_a_refusal_by_a_person_is_told_and_is_no_failure(rig: Rig) -> None:
    rig.book.answers = [Answer(False, "not on this machine")]
    said = rig.do("run_command", command="npm install")
    assert "It was not run: not on this machine." in said
    assert rig.book.events == {}
    assert (rig.bench.ledger.commands, rig.bench.ledger.failures) == (0, 0)


def test_trusted_commands_get_the_network_without_asking_and_a_lock_under_balanced_does_not(rig: Rig) -> None:
    rig.do("run_command", command="npm ci --help")
    assert rig.site.networked == []
    rig.trust(trust="trusted")
    rig.do("run_command", command="npm ci --help")
    assert rig.site.networked == ["npm ci --help"]
    assert rig.book.questions == []


def test_a_read_only_task_changes_nothing_whatever_slips_through_the_patterns(rig: Rig) -> None:
    """The wall is the read-only mount: both of these pass the list."""
    before = rig.contents("sums.py")
    rig.trust(type="code-review")
    for hole in ("sed -n '/a/{s/a/b/;W sums.py' sums.py", "awk 'BEGIN{print 1 > \"sums.py\"}'"):
        rig.do("run_command", command=hole)
    assert rig.contents("sums.py") == before


def test_a_read_only_command_does_not_count_as_a_change(rig: Rig) -> None:
    rig.trust(type="test-suite")
    assert "Success: yes" in rig.do("run_command", command="cat README.md")
    assert rig.book.changes == 0


def test_parallel_commands_read_and_all_of_them_or_none(rig: Rig) -> None:
    said = rig.do("run_parallel", commands=["cat README.md", "wc -l sums.py"])
    assert "Adds numbers" in said
    assert "2 sums.py" in said
    assert rig.book.types().count("command_completed") == 2
    assert rig.bench.ledger.commands == 2
    said = rig.do("run_parallel", commands=["ls", "touch x"])
    assert "none was run" in said
    assert rig.bench.ledger.commands == 2
    assert "refused" in rig.do("run_parallel", commands=["npm install"])


SCRIPTS = {
    "python": ("import sys\nprint('py', 6 * 7)", "py 42"),
    "shell": ("x=6\necho sh $((x * 7))", "sh 42"),
    "": ("console.log('js', 6 * 7)", "js 42"),
}


def test_a_script_of_several_lines_runs(rig: Rig) -> None:
    for language, (code, out) in SCRIPTS.items():
        assert out in rig.do("run_script", code=code, language=language)
    assert rig.book.types() == ["script_started", "command_output", "script_completed"] * 3
    assert rig.bench.ledger.commands == 3


def test_a_script_is_refused_where_it_cannot_be_judged(rig: Rig) -> None:
    rig.trust(trust="strict")
    assert "strict trust" in rig.do("run_script", code="1", language="python")
    rig.use(replace(TASK, type="test-suite"))
    assert "changes nothing" in rig.do("run_script", code="1", language="python")
    rig.use(TASK)
    assert "no language `cobol`" in rig.do("run_script", code="1", language="cobol")
    assert rig.book.types() == ["script_failed"]
    assert (rig.bench.ledger.commands, rig.bench.ledger.failures) == (0, 1)


def test_commands_run_out_and_more_are_asked_for(rig: Rig) -> None:
    rig.use(replace(TASK, budget=Budget(commands=1, ask=True)))
    rig.do("run_command", command="true")
    rig.book.answers = [Answer(True, "")]
    rig.do("run_command", command="true")
    assert rig.book.questions[0].kind == "budget"
    with pytest.raises(MaxTurns, match="all of its 2 commands"):
        rig.do("run_command", command="true")


def test_a_server_is_started_talked_to_and_stopped(rig: Rig) -> None:
    said = rig.do("start_process", command="while read x; do echo got $x; done")
    assert said.startswith("Process 1 was started")
    assert "3 bytes were sent" in rig.do("send_input", process=1, input="hi\n")
    assert "It runs.\nOutput since the last look: ```\ngot hi\n```" in rig.do("read_output", process=1)
    assert "nothing new" in rig.do("read_output", process=1, waitSeconds=0)
    assert "It has ended" in rig.do("stop_process", process=1)
    assert rig.book.types()[0] == "command_started"
    assert rig.book.types()[-1] == "command_completed"
    assert "no process 7; there are: 1" in rig.do("stop_process", process=7)


def test_a_started_program_that_fails_is_a_failed_command(rig: Rig) -> None:
    rig.do("start_process", command="read x; echo bad >&2; exit 4")
    rig.do("send_input", process=1, input="\n", close=True)
    said = rig.do("read_output", process=1)
    while "It runs" in said:
        said = rig.do("read_output", process=1)
    assert "It has ended: exit code 4." in said
    assert rig.book.of("command_failed")[0]["exitCode"] == 4
    assert rig.bench.ledger.failures == 1
