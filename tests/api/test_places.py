"""Who gets a place, and when."""

from __future__ import annotations

import asyncio

import pytest

from drydock.api.executions.places import Places
from drydock.errors import AtCapacity


def test_a_place_is_given_at_once_or_refused_with_load_and_capacity() -> None:
    places = Places(2, 0)
    places.take()
    places.take()
    with pytest.raises(AtCapacity, match=r"^at capacity \(3/2 concurrent executions\)$"):
        places.take()
    places.give_back()
    places.take()


def test_the_queue_is_served_in_its_order_and_has_an_end() -> None:
    async def run() -> None:
        places = Places(1, 2)
        first, second, third = places.queue_up(), places.queue_up(), places.queue_up()
        assert [turn.done() for turn in (first, second, third)] == [True, False, False]
        with pytest.raises(AtCapacity):
            places.queue_up()
        places.give_back()
        assert (second.done(), third.done(), places.taken) == (True, False, 1)

    asyncio.run(run())


def test_nobody_slips_in_before_those_who_wait() -> None:
    async def run() -> None:
        places = Places(1, 1)
        places.queue_up()
        waiting = places.queue_up()
        places.give_back()
        assert waiting.done()
        with pytest.raises(AtCapacity):
            places.take()

    asyncio.run(run())


@pytest.mark.parametrize("late", [False, True])
def test_a_turn_given_up_early_or_late_loses_no_place(late: bool) -> None:
    async def run() -> None:
        places = Places(1, 1)
        places.queue_up()
        waiting = places.queue_up()
        if late:
            places.give_back()
        places.leave(waiting)
        if not late:
            assert waiting.cancelled()
            places.give_back()
        assert (places.taken, places.queued) == (0, 0)
        places.take()

    asyncio.run(run())
