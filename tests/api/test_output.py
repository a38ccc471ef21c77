"""Output cut into numbered pieces."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from drydock.api.executions.events import of_live
from drydock.api.executions.live import Live, Order
from drydock.api.executions.output import GATHERED_RUNS, LONGEST_PIECE, Growing, unfinished
from drydock.box.ended import Ended
from drydock.code.executor import StreamName
from drydock.code.request import ExecutionRequest, ExecutionResult


def grow(fill: Callable[[Growing], None], keep: int = 1 << 20) -> Growing:
    async def run() -> Growing:
        growing = Growing(keep, lambda: None)
        fill(growing)
        return growing

    return asyncio.run(run())


def joined(growing: Growing, stream: str) -> bytes:
    return b"".join(data for name, data in growing.pieces if name == stream)


@pytest.mark.parametrize(
    ("data", "count"),
    [
        (b"", 0),
        (b"abc", 0),
        ("é".encode(), 0),
        ("é".encode()[:1], 1),
        ("漢".encode()[:2], 2),
        ("😀".encode()[:3], 3),
        ("😀".encode(), 0),
        (b"\xff", 0),
        (b"\x80\x80\x80\x80", 0),
    ],
)
def test_only_the_beginning_of_a_character_is_held_back(data: bytes, count: int) -> None:
    assert unfinished(data) == count


def test_what_was_not_seen_while_it_ran_is_added_from_the_true_account() -> None:
    def fill(growing: Growing) -> None:
        growing.add("stdout", b"ab")
        growing.end(b"abcd", b"e")

    assert grow(fill).pieces == [("stdout", b"ab"), ("stdout", b"cd"), ("stderr", b"e")]


def test_streams_keep_their_order_and_pieces_their_size() -> None:
    def fill(growing: Growing) -> None:
        growing.add("stdout", b"a" * (LONGEST_PIECE + 1))
        growing.add("stderr", b"b")
        growing.add("stdout", b"c")
        growing.end(b"a" * (LONGEST_PIECE + 1) + b"c", b"b")

    assert [(name, len(data)) for name, data in grow(fill).pieces] == [
        ("stdout", LONGEST_PIECE),
        ("stdout", 1),
        ("stderr", 1),
        ("stdout", 1),
    ]


def test_streams_that_change_places_all_the_time_are_sorted_out_within_a_moment() -> None:
    streams: tuple[StreamName, StreamName] = ("stdout", "stderr")

    def fill(growing: Growing) -> None:
        for number in range(GATHERED_RUNS * 10):
            growing.add(streams[number % 2], b"x")
        growing.end(b"x" * GATHERED_RUNS * 5, b"x" * GATHERED_RUNS * 5)

    growing = grow(fill)
    assert len(growing.pieces) <= GATHERED_RUNS + 2
    assert joined(growing, "stdout") == joined(growing, "stderr") == b"x" * GATHERED_RUNS * 5


def test_what_is_over_the_limit_is_not_kept() -> None:
    def fill(growing: Growing) -> None:
        for _ in range(10):
            growing.add("stdout", b"xyz")
        growing.end(b"xyzx", b"")

    assert joined(grow(fill, keep=4), "stdout") == b"xyzx"


def test_a_trickle_makes_fewer_pieces_the_longer_it_lasts() -> None:
    async def run() -> int:
        growing = Growing(1 << 20, lambda: None)
        growing.pieces.extend([("stdout", b"x")] * 100_000)
        for _ in range(50):
            growing.add("stdout", b"y")
            await asyncio.sleep(0.002)
        return len(growing.pieces)

    assert asyncio.run(run()) == 100_000


def test_a_character_is_whole_also_when_the_other_stream_comes_between_its_bytes() -> None:
    async def run() -> Growing:
        growing = Growing(1 << 20, lambda: None)
        for stream, data in (("stdout", b"\xc3"), ("stderr", b"e"), ("stdout", b"\xa9")):
            growing.add("stdout" if stream == "stdout" else "stderr", data)
            await asyncio.sleep(0.03)
        growing.end("é".encode(), b"e")
        return growing

    assert asyncio.run(run()).pieces == [("stderr", b"e"), ("stdout", "é".encode())]


def test_silence_is_broken_by_comments() -> None:
    async def run() -> list[bytes]:
        order = Order(ExecutionRequest("python", code="1"), "native", "local")
        live = Live("id", order, None, 1024)
        live.start()
        seen = []
        async for event in of_live(live, 0, ping=0.02):
            seen.append(event)
            if len(seen) == 4:
                live.end(ExecutionResult(Ended("completed", 0)))
        return seen

    started, *pings, ended = asyncio.run(run())
    assert started.startswith(b"id: 1\nevent: started\n")
    assert set(pings) == {b": ping\n\n"}
    assert ended.startswith(b"id: 2\nevent: ended\n")
