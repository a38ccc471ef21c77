import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from drydock.errors import Conflict, Invalid
from drydock.store.database import Database, connect
from drydock.store.execution import Chunk, Execution, Output, SkippedFile, StoredFile, object_key
from drydock.store.executions import SWEEP, Executions
from drydock.store.migrations import migrate
from drydock.store.objects import MemoryObjects
from drydock.store.retention import Retention
from tests.store.rows import START, row

HOUR = timedelta(seconds=3600)


def ended(after: float = 0, **fields: Any) -> Execution:
    return row(after=after, state="ended", ended_at=START + timedelta(seconds=after), **fields)


def test_a_record_comes_back_as_it_was_given(executions: Executions) -> None:
    given = ended(
        label="a \u2028 tool \U0001f600",
        request={"files": 2, "argv": None, "limits": {"memory": 1.5}},
        idempotency_key="k",
        body_hash="0" * 64,
        started_at=START,
        expires_at=START + HOUR,
        reason="exit_nonzero",
        exit_code=3,
        result={"reason": "exit_nonzero", "wall_ms": 7},
        files=(StoredFile("a/\u00e9\udcff.png", 3, "f" * 64, object_key("x", 0)),),
        skipped=(SkippedFile("link", "symlink"),),
        output=Output(b"\x00\xff out", b"err", (Chunk("stdout", 6), Chunk("stderr", 3))),
    )
    executions.write_behind(given)
    assert executions.writer.flush(30)
    assert executions.get(given.id, given.caller) == given


def test_empty_output_is_not_the_same_as_none(executions: Executions) -> None:
    silent, queued = row(output=Output()), row()
    for each in (silent, queued):
        executions.write_behind(each)
    assert executions.writer.flush(30)
    assert executions.get(silent.id, "local") == silent
    assert executions.get(queued.id, "local") == queued


def test_a_record_is_there_at_once_though_it_is_written_later(executions: Executions) -> None:
    given = row()
    executions.write_behind(given)
    assert executions.get(given.id, "local") == given
    assert executions.list("local").rows == [given]


def test_another_callers_record_is_not_there(executions: Executions) -> None:
    mine = row(caller="key:mine")
    executions.reserve(mine)
    behind = row(caller="key:mine")
    executions.write_behind(behind)
    assert executions.get(mine.id, "key:other") is None
    assert executions.get(behind.id, "key:other") is None
    assert executions.list("key:other").rows == []
    assert executions.get("no such id", "key:mine") is None


def test_an_ended_record_is_kept_for_its_retention(executions: Executions) -> None:
    given = ended()
    executions.write_behind(given)
    found = executions.get(given.id, "local")
    assert found is not None
    assert found.expires_at == START + HOUR


def test_the_first_of_a_key_holds_it(executions: Executions) -> None:
    first, second = row(idempotency_key="k", body_hash="a"), row(idempotency_key="k", body_hash="b")
    assert executions.reserve(first) == first
    assert executions.reserve(second) == first
    assert executions.get(second.id, "local") is None


def test_a_key_of_another_caller_is_another_key(executions: Executions) -> None:
    first, second = row(caller="a", idempotency_key="k"), row(caller="b", idempotency_key="k")
    assert executions.reserve(first) == first
    assert executions.reserve(second) == second


def test_without_a_key_nothing_collides(executions: Executions) -> None:
    rows = [row() for _ in range(3)]
    assert [executions.reserve(each) for each in rows] == rows


def test_a_repeat_sees_the_newest_record_and_not_the_reserved_one(executions: Executions) -> None:
    first = row(idempotency_key="k")
    executions.reserve(first)
    done = replace(first, state="ended", reason="completed")
    executions.write_behind(done)
    assert executions.reserve(row(idempotency_key="k")) == done


def test_an_id_that_exists_is_a_conflict(executions: Executions) -> None:
    first = row()
    executions.reserve(first)
    with pytest.raises(Conflict):
        executions.reserve(row(id=first.id, caller="somebody else"))


def test_a_released_key_may_be_used_again(executions: Executions) -> None:
    first, second = row(idempotency_key="k"), row(idempotency_key="k")
    executions.reserve(first)
    executions.release(first.id)
    assert executions.reserve(second) == second


def test_only_what_never_began_can_be_released(executions: Executions) -> None:
    begun = row(state="running", idempotency_key="k")
    executions.reserve(begun)
    executions.release(begun.id)
    assert executions.get(begun.id, "local") == begun


def test_of_fifty_at_once_with_one_key_one_gets_it(tmp_path: Path) -> None:
    # Two servers on one folder, so that the database itself must decide and not a lock of the process.
    databases = [connect("", tmp_path) for _ in range(2)]
    migrate(databases[0])
    servers = [Executions(database, MemoryObjects(), retention=1) for database in databases]
    start = threading.Barrier(50)

    def reserve(number: int) -> tuple[str, str]:
        mine = row(idempotency_key="k")
        start.wait(30)
        return mine.id, servers[number % 2].reserve(mine).id

    with ThreadPoolExecutor(50) as crowd:
        answers = list(crowd.map(reserve, range(50)))
    assert len({holder for _, holder in answers}) == 1
    assert sum(mine == holder for mine, holder in answers) == 1
    assert len(servers[0].list("local", limit=100).rows) == 1
    for server, database in zip(servers, databases, strict=True):
        server.close()
        database.close()


def test_a_reservation_outlives_the_server(executions: Executions, database: Database) -> None:
    first = row(idempotency_key="k", body_hash="a")
    executions.reserve(first)
    executions.close()
    again = Executions(database, MemoryObjects(), retention=1)
    assert again.reserve(row(idempotency_key="k")) == first
    again.close()


def test_a_list_is_newest_first_and_its_pages_join(executions: Executions) -> None:
    rows = [row(after=n // 3) for n in range(10)]
    for each in rows:
        executions.write_behind(each)
    wanted = sorted(rows, key=lambda each: (each.created_at, each.id), reverse=True)
    seen: list[Execution] = []
    cursor = None
    while True:
        page = executions.list("local", cursor=cursor, limit=3)
        seen += page.rows
        executions.write_behind(row(after=1000))
        cursor = page.cursor
        if cursor is None:
            break
    assert seen == wanted


def test_a_last_page_that_is_full_has_no_cursor(executions: Executions) -> None:
    for n in range(2):
        executions.write_behind(row(after=n))
    assert executions.list("local", limit=2).cursor is None


def test_a_list_can_be_narrowed(executions: Executions) -> None:
    rows = [row(), row(state="running"), row(dialect="code"), row(language="node")]
    for each in rows:
        executions.write_behind(each)
    assert executions.list("local", state="running").rows == [rows[1]]
    assert executions.list("local", dialect="code").rows == [rows[2]]
    assert executions.list("local", language="node").rows == [rows[3]]
    assert executions.list("local", language="node", state="ended").rows == []


def test_a_list_does_not_read_the_output(executions: Executions) -> None:
    executions.write_behind(row(output=Output(stdout=b"x")))
    assert [each.output for each in executions.list("local").rows] == [None]


@pytest.mark.parametrize(
    "cursor",
    ["", "x", "%%%", "W10", "WzEsMl0", "bnVsbA", "e30", "WyIyMDI2IiwgMV0", "[" * 9000, "\x00", "\u00e9", "W1tbXV1d"],
)
def test_a_cursor_that_no_list_gave_is_refused(executions: Executions, cursor: str) -> None:
    with pytest.raises(Invalid) as refused:
        executions.list("local", cursor=cursor)
    assert refused.value.where == "cursor"


def test_a_cursor_of_another_caller_shows_nothing_of_it(executions: Executions) -> None:
    for n in range(3):
        executions.write_behind(row(caller="a", after=n))
    cursor = executions.list("a", limit=1).cursor
    assert executions.list("b", cursor=cursor).rows == []


def test_what_a_crash_left_unfinished_is_interrupted(executions: Executions) -> None:
    queued, running, done = row(), row(state="running"), ended(reason="completed")
    for each in (queued, running, done):
        executions.reserve(each)
    assert executions.interrupt_unfinished() == 2
    for each in (queued, running):
        found = executions.get(each.id, "local")
        assert found is not None
        assert (found.state, found.reason) == ("ended", "interrupted")
        assert found.ended_at is not None
        assert found.expires_at == found.ended_at + HOUR
    assert executions.get(done.id, "local") == done
    assert executions.interrupt_unfinished() == 0


def test_a_start_leaves_the_work_of_other_servers_alone(executions: Executions, database: Database) -> None:
    theirs = row(state="running")
    executions.reserve(theirs)
    other = Executions(database, MemoryObjects(), retention=1, server="other")
    assert other.interrupt_unfinished() == 0
    other.close()
    assert executions.get(theirs.id, "local") == theirs


def test_what_is_past_its_time_goes_with_its_objects(executions: Executions, objects: MemoryObjects) -> None:
    old, new, running = (
        ended(files=[StoredFile("a", 1, "", "executions/old/0"), StoredFile("b", 1, "", "executions/old/1")]),
        ended(after=1, files=[StoredFile("a", 1, "", "executions/new/0")]),
        row(state="running"),
    )
    for each in (old, new, running):
        for file in each.files:
            objects.put(file.key, b"x")
        executions.write_behind(each)
    assert executions.writer.flush(30)
    assert executions.expire(START + HOUR) == 1
    assert executions.get(old.id, "local") is None
    assert objects.get("executions/old/0") is None
    assert objects.get("executions/old/1") is None
    assert objects.get("executions/new/0") == b"x"
    assert {each.id for each in executions.list("local").rows} == {new.id, running.id}


def test_a_large_sweep_takes_all(executions: Executions) -> None:
    for _ in range(SWEEP * 2 + 1):
        executions.write_behind(ended())
    assert executions.writer.flush(30)
    assert executions.expire(START + HOUR) == SWEEP * 2 + 1
    assert executions.list("local").rows == []


def test_a_forgotten_key_may_be_used_again(executions: Executions) -> None:
    executions.reserve(ended(idempotency_key="k", expires_at=START))
    executions.expire(START)
    fresh = row(idempotency_key="k")
    assert executions.reserve(fresh) == fresh


class Told(MemoryObjects):
    """Tells when something was deleted."""

    def __init__(self) -> None:
        super().__init__()
        self.deleted = threading.Event()

    def delete(self, keys: object) -> None:
        super().delete(keys)  # type: ignore[arg-type]
        self.deleted.set()


def test_the_loop_forgets_by_itself(database: Database) -> None:
    objects = Told()
    executions = Executions(database, objects, retention=0)
    objects.put("executions/x/0", b"x")
    executions.write_behind(ended(files=[StoredFile("a", 1, "", "executions/x/0")]))
    assert executions.writer.flush(30)
    loop = Retention(executions, every=0.01)
    assert objects.deleted.wait(30)
    loop.close()
    executions.close()
    assert objects.get("executions/x/0") is None
