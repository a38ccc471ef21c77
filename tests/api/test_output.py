"""Output cut into numbered pieces."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from drydock.api.executions.output import GATHERED_RUNS, LONGEST_PIECE, Growing, unfinished
from drydock.code.executor import StreamName


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
        (b"\xff", 1),
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
