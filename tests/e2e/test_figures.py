"""The figures that are promised, measured on this machine: slow, and with nothing else running."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from bench import code, idle, kill, packages
from bench.figure import Figure

pytestmark = [pytest.mark.long, pytest.mark.serial, pytest.mark.timeout(900)]


def all_hold(figures: Iterable[Figure]) -> None:
    assert [str(figure) for figure in figures if not figure.holds] == []


def test_one_call_takes_a_third_of_a_bare_python3_and_sixteen_clients_get_four_times_its_throughput() -> None:
    all_hold(code.measure())


def test_an_idle_server_and_its_slots_are_small() -> None:
    all_hold(idle.memory())


def test_ten_thousand_executions_leave_nothing_behind() -> None:
    all_hold(idle.leavings(10_000))


def test_two_hundred_programs_that_will_not_die_are_dead_in_time() -> None:
    all_hold(kill.measure())


def test_a_layer_of_a_hundred_megabytes_costs_a_later_run_next_to_nothing() -> None:
    all_hold(packages.measure())
