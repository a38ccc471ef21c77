"""A run's events as lines of a terminal."""

from __future__ import annotations

import pytest

from drydock.cli.runs.view import LONGEST, View, plain


@pytest.mark.parametrize(
    ("pieces", "shown"),
    [
        (["one\ntw", "o\n"], ["one", "two"]),
        (["no newline at its end"], ["no newline at its end"]),
        (["10 %\r50 %\r100 %\n"], ["100 %"]),
        (["windows\r\n"], ["windows"]),
        (["\ta\x1b[31mred\x07"], ["    a\N{REPLACEMENT CHARACTER}[31mred\N{REPLACEMENT CHARACTER}"]),
        (["txt.\N{RIGHT-TO-LEFT OVERRIDE}gpj"], ["txt.\N{REPLACEMENT CHARACTER}gpj"]),
    ],
)
def test_what_a_program_writes_comes_as_its_lines(
    pieces: list[str], shown: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    view = View()
    for piece in pieces:
        view.show("command_output", {"stream": "stdout", "output": piece})
    view.close()
    assert capsys.readouterr().out.splitlines() == [f"       | {line}" for line in shown]


def test_a_line_without_an_end_is_not_kept_for_ever(capsys: pytest.CaptureFixture[str]) -> None:
    view = View()
    for _ in range(100):
        view.show("command_output", {"output": "x" * 1000})
    assert len(capsys.readouterr().out.splitlines()) == 33
    assert len(plain("x" * 10_000)) == LONGEST


def test_kinds_that_nobody_reads_are_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    View().show("agent_turn", {"toolNames": ["run_command"]})
    View().show("of a version to come", {"what": "ever"})
    assert capsys.readouterr().out == ""
