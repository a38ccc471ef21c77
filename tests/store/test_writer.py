import logging
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from drydock.store.database import Database, connect
from drydock.store.execution import Execution, Output
from drydock.store.executions import Executions
from drydock.store.migrations import migrate
from drydock.store.objects import MemoryObjects
from drydock.store.writer import Writer
from tests.store.rows import row

SOON = 30.0


class Slow:
    """A place to write to that waits at a gate, so that a test decides when a batch is done."""

    def __init__(self) -> None:
        self.batches: list[Sequence[Execution]] = []
        self.began = threading.Semaphore(0)
        self.gate = threading.Semaphore(0)

    def __call__(self, rows: Sequence[Execution]) -> None:
        self.began.release()
        assert self.gate.acquire(timeout=SOON)
        self.batches.append(rows)


@pytest.fixture
def locked(tmp_path: Path, database: Database) -> sqlite3.Connection:
    """Another process's write lock on the database of the test."""
    other = sqlite3.connect(tmp_path / "data" / "drydock.db", isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    return other


def test_what_is_taken_is_written_within_its_time(executions: Executions, database: Database) -> None:
    first = row()
    executions.write_behind(first)
    assert executions.writer.flush(SOON)
    with database.read() as connection:
        assert connection.exec_driver_sql("SELECT id FROM executions").scalars().all() == [first.id]


def test_a_batch_goes_without_being_asked_for() -> None:
    slow = Slow()
    writer = Writer(slow, linger=0.01)
    writer.put(row())
    assert slow.began.acquire(timeout=SOON)
    slow.gate.release()
    writer.close()
    assert [len(batch) for batch in slow.batches] == [1]


def test_a_full_batch_does_not_linger() -> None:
    slow = Slow()
    writer = Writer(slow, linger=3600, batch=3)
    for _ in range(7):
        writer.put(row())
    for _ in range(2):
        slow.gate.release()
        assert slow.began.acquire(timeout=SOON)
    slow.gate.release()
    writer.close()
    assert [len(batch) for batch in slow.batches] == [3, 3, 1]


def test_the_newest_record_of_an_execution_is_seen_before_and_while_it_is_written() -> None:
    slow = Slow()
    writer = Writer(slow, linger=0)
    first = row()
    running, ended = row(id=first.id, state="running"), row(id=first.id, state="ended")
    writer.put(running)
    assert slow.began.acquire(timeout=SOON)
    assert writer.pending(first.id) is running
    writer.put(ended)
    assert writer.pending(first.id) is ended
    slow.gate.release(2)
    writer.close()
    assert slow.batches == [[running], [ended]]
    assert writer.pending(first.id) is None


def test_flush_waits_for_what_came_before_it_and_not_for_what_comes_after() -> None:
    slow = Slow()
    writer = Writer(slow, linger=3600)
    writer.put(row())
    flushed = threading.Event()

    def flush() -> None:
        if writer.flush(SOON):
            flushed.set()

    waiting = threading.Thread(target=flush)
    waiting.start()
    assert slow.began.acquire(timeout=SOON)
    writer.put(row())
    assert not flushed.is_set()
    slow.gate.release()
    assert flushed.wait(SOON)
    waiting.join()
    slow.gate.release()
    writer.close()


def test_flush_says_when_time_ran_out() -> None:
    slow = Slow()
    writer = Writer(slow)
    writer.put(row())
    assert not writer.flush(0.01)
    slow.gate.release()
    writer.close()


@pytest.mark.parametrize("bound", [{"rows": 2}, {"size": 20}])
def test_a_full_queue_refuses_an_offer_and_holds_up_a_put_until_there_is_room(bound: dict[str, int]) -> None:
    slow = Slow()
    writer = Writer(slow, linger=0, batch=1, **bound)
    output = Output(stdout=b"x" * 10)
    assert writer.offer(row(output=output))
    assert writer.offer(row(output=output))
    assert not writer.offer(row(output=output))
    through = threading.Event()
    late = row(output=output)

    def put() -> None:
        writer.put(late)
        through.set()

    blocked = threading.Thread(target=put)
    blocked.start()
    assert slow.began.acquire(timeout=SOON)
    assert not through.is_set()
    slow.gate.release()
    assert through.wait(SOON)
    blocked.join()
    slow.gate.release(2)
    writer.close()
    assert slow.batches[-1] == [late]


def test_one_record_larger_than_the_bound_still_goes_through() -> None:
    slow = Slow()
    slow.gate.release()
    writer = Writer(slow, size=5)
    assert writer.offer(row(output=Output(stdout=b"x" * 10)))
    writer.close()
    assert len(slow.batches) == 1


def test_after_close_a_record_is_written_before_put_returns(executions: Executions) -> None:
    executions.close()
    late = row()
    assert not executions.offer(late)
    executions.write_behind(late)
    assert executions.get(late.id, "local") == late


def test_a_database_that_does_not_answer_is_tried_again_until_it_does(
    executions: Executions, locked: sqlite3.Connection, caplog: pytest.LogCaptureFixture
) -> None:
    refused = threading.Event()

    class Refused(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            refused.set()

    handler = Refused()
    logging.getLogger("drydock.store.writer").addHandler(handler)
    kept = row()
    executions.write_behind(kept)
    assert refused.wait(SOON)
    locked.execute("ROLLBACK")
    locked.close()
    assert executions.writer.flush(SOON)
    logging.getLogger("drydock.store.writer").removeHandler(handler)
    assert executions.writer.lost == 0
    assert executions.get(kept.id, "local") == kept


def test_what_close_cannot_write_in_time_is_told_id_by_id(
    executions: Executions, locked: sqlite3.Connection, caplog: pytest.LogCaptureFixture
) -> None:
    rows = [row(), row()]
    for each in rows:
        executions.write_behind(each)
    executions.close(timeout=0.1)
    locked.execute("ROLLBACK")
    locked.close()
    assert executions.writer.lost == 2
    told = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert all(any(each.id in line for line in told) for each in rows)


def test_a_record_that_the_database_refuses_does_not_hold_up_the_others(
    executions: Executions, caplog: pytest.LogCaptureFixture
) -> None:
    taken = row(idempotency_key="k")
    bad = [row(request={"no": object()}), row(idempotency_key="k")]
    good = [row(), row()]
    for each in (good[0], taken, *bad, good[1]):
        executions.write_behind(each)
    assert executions.writer.flush(SOON)
    assert [executions.get(each.id, "local") for each in (*good, taken)] == [*good, taken]
    assert executions.writer.lost == 2
    assert all(each.id in caplog.text for each in bad)


def test_a_server_killed_in_the_middle_leaves_a_database_that_reads_well(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path\n"
        "from drydock.store.database import connect; from drydock.store.migrations import migrate\n"
        "from drydock.store.executions import Executions; from drydock.store.objects import MemoryObjects\n"
        "from drydock.store.execution import Output\n"
        "from tests.store.rows import row\n"
        "database = connect('', Path(sys.argv[1])); migrate(database)\n"
        "executions = Executions(database, MemoryObjects(), retention=1)\n"
        "executions.reserve(row(idempotency_key='kept'))\n"
        "while True:\n"
        "    for _ in range(600): executions.write_behind(row(output=Output(stdout=b'x' * 5000)))\n"
        "    executions.writer.flush(30); print('batch', flush=True)\n"
    )
    server = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]
    )
    assert server.stdout is not None
    for _ in range(2):
        assert server.stdout.readline() == b"batch\n"
    os.kill(server.pid, signal.SIGKILL)
    server.communicate()
    database = connect("", tmp_path)
    migrate(database)
    with database.read() as connection:
        assert connection.exec_driver_sql("PRAGMA integrity_check").scalar() == "ok"
        assert (connection.exec_driver_sql("SELECT count(*) FROM executions").scalar() or 0) >= 1201
    executions = Executions(database, MemoryObjects(), retention=60)
    assert executions.interrupt_unfinished() >= 1201
    again = executions.reserve(row(idempotency_key="kept"))
    assert (again.state, again.reason) == ("ended", "interrupted")
    executions.close()
    database.close()
