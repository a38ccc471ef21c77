"""The waits between tries."""

from __future__ import annotations

from drydock.model.patience import wait_before


def test_waits_double_with_jitter_up_to_their_bound() -> None:
    for next_try, base in ((2, 0.5), (3, 1.0), (4, 2.0)):
        waits = [wait_before(next_try, None) or 0.0 for _ in range(200)]
        assert all(base <= wait <= base + 0.124 for wait in waits)
        assert len(set(waits)) > 10
    assert [wait_before(n, None) for n in (5, 6, 20)] == [2.5, 2.5, 2.5]


def test_a_provider_may_ask_for_more_but_not_for_less_nor_too_much() -> None:
    assert wait_before(2, 7.5) == 7.5
    assert (wait_before(2, 0.0) or 0.0) >= 0.5
    assert wait_before(2, 60.1) is None
