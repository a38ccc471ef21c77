"""Runs one row in an arena and judges all that it left. An AssertionError means that the attack has worked."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import Any

from tests.attacks.arena import Arena, Request
from tests.attacks.row import BREACH, FINE, HELD, Row, Scene, filled

ANSWERED = 2.0
"""Another client's print(1) is answered within this many seconds, during an attack and after it (P5)."""
IDLE = 1.0
VICTIM_LIMIT = 20
TWIN_LIMIT = 30
"""A row's own limit is its attack's."""


def play_twin(arena: Arena, row: Row) -> None:
    """The harmless use of the same means passes: a wall that lets nothing through proves nothing."""
    arena.planted.stock(row, arena.places())
    asked = replace(request(arena, row, row.twin), limit=TWIN_LIMIT, requires=row.twin_requires, index="")
    reply = arena.execute(asked).body
    assert FINE in reply["stdout"], reply
    assert reply["status"] == "success", reply


def play(arena: Arena, row: Row) -> None:
    arena.planted.stock(row, arena.places())
    for line in row.refused:
        arena.assert_refused(Request("print('BREACH')", row.language, row.limit, requires=(_filled(arena, line),)))
    before = _later(arena, row) if row.later_as_before else ""
    with _Victim(arena, row) as victim, _Neighbour(arena, row) as neighbour:
        began = time.monotonic()
        answer = arena.execute(request(arena, row, row.attack), within=row.bound * arena.patience + 1)
        seconds = time.monotonic() - began
    assert seconds <= row.bound * arena.patience, f"answered after {seconds:.2f} s, not within {row.bound}"
    # Whoever means to come to the same interpreter comes at once: one that is idle is soon replaced.
    later = _later(arena, row) if row.single else ""
    arena.await_no_survivors(IDLE)
    later = later or _later(arena, row)
    scene = Scene(row, answer.body, seconds, later, before, arena.heard(), list(arena.planted.index.files.asked))
    _judge(scene)
    victim.judge()
    neighbour.judge()
    took, said = _print_1(arena, "print('FINE')")
    assert said == FINE + "\n", said
    assert took <= ANSWERED * arena.patience, f"print(1) took {took:.2f} s after the attack"
    arena.await_load_0(IDLE)
    assert not scene.listener_heard, f"a listener outside heard {scene.listener_heard!r}"
    arena.assert_no_canary_seen()
    if row.shelf is not None:
        arena.assert_nothing_elsewhere()


def request(arena: Arena, row: Row, program: str) -> Request:
    index = _filled(arena, row.index)
    return Request(_filled(arena, program), row.language, row.limit, dict(row.files), row.requires, index)


def _filled(arena: Arena, text: str) -> str:
    return filled(text, arena.places())


def _judge(scene: Scene) -> None:
    row, reply = scene.row, scene.reply
    assert BREACH not in reply["stdout"] + reply["stderr"], reply["stdout"][-2000:]
    assert scene.reason in row.ends, {**reply, "stdout": scene.out[-2000:]}
    if scene.reason == "completed":
        assert scene.out.rstrip().endswith(HELD), scene.out[-2000:]
    assert BREACH not in scene.later, scene.later
    if row.later_as_before:
        assert scene.later == scene.before
    if row.judge is not None:
        row.judge(scene)


def _later(arena: Arena, row: Row) -> str:
    if not row.later:
        return ""
    asked = replace(request(arena, row, row.later), requires=row.later_requires, index="")
    reply = arena.execute(asked).body
    assert reply["status"] == "success", reply
    return str(reply["stdout"])


def _print_1(arena: Arena, program: str) -> tuple[float, str]:
    began = time.monotonic()
    body = arena.execute(Request(program), within=30).body
    return time.monotonic() - began, str(body["stdout"])


class _Neighbour:
    """Another client, who asks again and again while the attack lasts."""

    def __init__(self, arena: Arena, row: Row) -> None:
        self._arena, self._program = arena, row.meanwhile
        self._took: list[float] = []
        self._said: list[Any] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._ask, name="neighbour")
        self._comes = not row.single

    def _ask(self) -> None:
        while not self._over.wait(0.2):
            try:
                took, said = _print_1(self._arena, self._program)
            except AssertionError as wrong:
                took, said = 0.0, f"no answer: {wrong}"
            self._took.append(took)
            self._said.append(said)

    def __enter__(self) -> _Neighbour:
        if self._comes:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._comes:
            self._thread.join()

    def judge(self) -> None:
        assert set(self._said) <= {FINE + "\n"}, self._said
        assert max(self._took, default=0.0) <= ANSWERED * self._arena.patience, (
            f"a neighbour waited {max(self._took):.2f} s"
        )


class _Victim:
    """Another client's program that runs from before the attack until after it."""

    def __init__(self, arena: Arena, row: Row) -> None:
        self._arena, self._row = arena, row
        self._reply: dict[str, Any] = {}
        self._thread = threading.Thread(target=self._run, name="victim")

    def _run(self) -> None:
        asked = replace(request(self._arena, self._row, self._row.victim), requires=(), index="")
        try:
            self._reply = self._arena.execute(asked, within=VICTIM_LIMIT).body
        except AssertionError as wrong:
            self._reply = {"stdout": f"no answer: {wrong}"}

    def __enter__(self) -> _Victim:
        if self._row.victim:
            self._thread.start()
            self._arena.await_load(1, 10)
        return self

    def __exit__(self, *_: object) -> None:
        if self._row.victim:
            self._thread.join()

    def judge(self) -> None:
        assert not self._row.victim or self._reply["stdout"] == "UNHARMED\n", self._reply
