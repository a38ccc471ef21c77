"""What comes out of a box is read without belief."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from drydock.agent import context, hand, plan, stories
from drydock.agent.gate.select import candidates
from drydock.agent.lines import command_lines
from drydock.agent.site import Done, OnOutput, Script

DONE = Done("completed", 0)


class Liar:
    """A site whose tenant has taken the helper's place."""

    root = "/box/work/repo"

    def __init__(self, done: Done) -> None:
        self._done = done

    async def run(
        self,
        program: Sequence[str] | Script,
        *,
        stdin: bytes = b"",
        timeout_s: float,
        read_only: bool = False,
        network: bool = False,
        on_output: OnOutput | None = None,
    ) -> Done:
        return self._done

    async def start(self, argv: Sequence[str], *, read_only: bool = False, network: bool = False) -> int:
        return 1

    async def send(self, number: int, data: bytes, *, close: bool = False) -> None: ...

    async def hear(self, number: int, after: int, *, wait_s: float) -> Any: ...

    async def stop(self, number: int) -> Done:
        return self._done


@pytest.mark.parametrize(
    ("done", "error"),
    [
        (replace(DONE, stdout=b""), "cannot be read"),
        (replace(DONE, stdout=b"[1]"), "cannot be read"),
        (replace(DONE, stdout=b"\xff{"), "cannot be read"),
        (replace(DONE, stdout=b"[" * 200_000), "cannot be read"),
        (replace(DONE, stdout=b" " * (5 << 20)), "too long"),
        (Done("timeout", None), "longer than 30 s"),
        (Done("exit_nonzero", 1, stderr=b"Traceback\nboom"), "the tool failed (exit_nonzero) boom"),
        (Done("memory_limit", None), "the tool failed (memory_limit)"),
    ],
)
def test_an_answer_that_is_none_is_an_error(done: Done, error: str) -> None:
    assert error in asyncio.run(hand.ask(Liar(done), "read")).error


def test_fields_of_another_type_read_as_absent() -> None:
    told = hand.Told({"a": 1, "b": True, "c": ["x", 2], "d": {"e": "f", "g": 3}, "h": [{"i": 1}, 2]})
    assert (told.text("a"), told.number("b"), told.texts("c"), told.texts("d")) == ("", 0, ["x"], [])
    assert (told.by_name("d"), told.by_name("c"), [row.data for row in told.rows("h")]) == ({"e": "f"}, {}, [{"i": 1}])


def test_a_survey_full_of_lies_gives_a_context_all_the_same() -> None:
    lies = b'{"top": [1, "a"], "paths": ["README.md", null, {"x": 1}], "files": {"README.md": "hi", "x": 3}}'
    found = asyncio.run(context.collect(Liar(replace(DONE, stdout=lies)), "do"))
    assert (found.top, found.files) == (["a"], {"README.md": "hi"})


@pytest.mark.parametrize(
    "text",
    [
        "# " + " " * 50_000 + "x",
        "- " * 50_000,
        "a." * 50_000,
        "a/" * 50_000,
        "**" * 50_000,
        "`" * 100_000,
        "Validation commands\n" + "1. " * 50_000,
        "A " * 50_000 + ":",
    ],
)
def test_no_text_keeps_a_reader_busy(text: str) -> None:
    """A model's words are read on the server's own loop."""
    began = time.process_time()
    plan.read(text)
    candidates(text)
    command_lines(text)
    context.relevant_files(["a.py"] * 1000, text)
    stories.read(text)
    assert time.process_time() - began < 1
