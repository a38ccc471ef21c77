import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import text, update

from drydock.errors import NotFound
from drydock.store.database import Database
from drydock.store.journal import Entry, Journal, StaleEpoch
from drydock.store.run import Event, Run
from drydock.store.runs import Runs
from drydock.store.steps import Steps
from drydock.store.tables import events
from tests.store.runs_rows import queued


@pytest.fixture
def run(runs: Runs) -> Run:
    made = runs.create(queued())
    assert isinstance(made, Run)
    return made


def entries(*keys: str) -> list[Entry]:
    return [Entry("told", key, {"key": key, "text": "\u00e9 \U0001f600"}) for key in keys]


def test_events_are_numbered_without_a_gap_and_read_back_as_told(journal: Journal, run: Run, told: list[Event]) -> None:
    first = journal.append(run.id, entries("a", "b"))
    second = journal.append(run.id, entries("c"))
    assert [event.seq for event in (*first, *second)] == [1, 2, 3]
    assert journal.read(run.id) == [*first, *second] == told
    assert journal.read(run.id, after=2) == second
    assert journal.last(run.id, 2) == [first[1], *second]


def test_what_was_told_is_not_told_again(journal: Journal, run: Run, told: list[Event]) -> None:
    journal.append(run.id, entries("a"))
    again = journal.append(run.id, [Entry("other", "a", {"changed": True}), *entries("b")])
    assert [(event.seq, event.type) for event in again] == [(1, "told"), (2, "told")]
    assert [event.key for event in told] == ["a", "b"]


def test_a_writer_that_has_lost_the_run_writes_nothing(journal: Journal, runs: Runs, run: Run) -> None:
    mine = runs.claim(run.id, "one")
    other = runs.claim(run.id, "two")
    assert mine is not None
    assert other is not None
    journal.append(run.id, entries("a"), epoch=other.epoch)
    with pytest.raises(StaleEpoch):
        journal.append(run.id, entries("b"), epoch=mine.epoch)
    with pytest.raises(StaleEpoch):
        runs.change(run.id, epoch=mine.epoch, phase="work")
    assert [event.key for event in journal.read(run.id)] == ["a"]


def test_a_run_that_is_not_there_has_no_journal(journal: Journal) -> None:
    with pytest.raises(NotFound):
        journal.append("no-such-run", entries("a"))


def test_many_writers_at_once_leave_no_gap_and_no_double(journal: Journal, run: Run) -> None:
    start = threading.Barrier(8)

    def write(writer: int) -> None:
        start.wait()
        for number in range(20):
            journal.append(run.id, entries(f"{writer}-{number}", f"all-{number}"))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(8)))
    found = journal.read(run.id)
    assert [event.seq for event in found] == list(range(1, 8 * 20 + 20 + 1))
    assert len({event.key for event in found}) == len(found)
    assert journal.broken_at(run.id) is None


def test_a_changed_event_breaks_the_chain_at_its_place(journal: Journal, run: Run, either: Database) -> None:
    journal.append(run.id, entries(*(str(number) for number in range(5))))
    with either.write() as connection:
        connection.execute(update(events).where(events.c.run == run.id, events.c.seq == 3).values(data={"forged": 1}))
    assert journal.broken_at(run.id) == 3


def test_a_removed_event_breaks_the_chain_at_its_place(journal: Journal, run: Run, either: Database) -> None:
    journal.append(run.id, entries(*(str(number) for number in range(5))))
    with either.write() as connection:
        connection.execute(text("DELETE FROM events WHERE seq = 2"))
    assert journal.broken_at(run.id) == 2


def test_a_search_goes_from_the_newest_and_looks_into_the_data(journal: Journal, run: Run) -> None:
    journal.append(run.id, [Entry("told", str(n), {"command": f"make part-{n % 3}"}) for n in range(9)])
    journal.append(run.id, [Entry("other", "x", {"command": "make PART-1"})])
    assert [event.seq for event in journal.search(run.id, text="part-1", limit=3)] == [10, 8, 5]
    assert [event.seq for event in journal.search(run.id, kinds=["told"], text="part-1", before=8)] == [5, 2]


def test_a_step_s_result_and_its_events_are_there_together_or_not_at_all(
    journal: Journal, runs: Runs, run: Run, either: Database
) -> None:
    steps = Steps(either, journal)
    claimed = runs.claim(run.id, "one")
    assert claimed is not None
    assert steps.begin(run.id, claimed.epoch, "model:1") is None
    begun = steps.begin(run.id, claimed.epoch, "model:1")
    assert begun is not None
    assert not begun.ended
    taken_over = runs.claim(run.id, "two")
    assert taken_over is not None
    with pytest.raises(StaleEpoch):
        steps.end(run.id, claimed.epoch, "model:1", {"text": "late"}, entries("late"))
    assert journal.read(run.id) == []
    steps.end(run.id, taken_over.epoch, "model:1", None, entries("done"))
    steps.end(run.id, taken_over.epoch, "model:1", {"text": "twice"}, entries("done"))
    assert steps.ended(run.id) == {"model:1": None}
    assert [event.key for event in journal.read(run.id)] == ["done"]
