from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from drydock.store.database import Database
from drydock.store.inbox import Inbox
from drydock.store.journal import StaleEpoch
from drydock.store.run import Run
from drydock.store.runs import OverQuota, Quota, Runs
from tests.store.rows import START
from tests.store.runs_rows import queued


def made(runs: Runs, run: Run) -> Run:
    created = runs.create(run)
    assert isinstance(created, Run)
    return created


def test_a_run_comes_back_as_it_was_given_and_only_to_its_caller(runs: Runs) -> None:
    run = made(runs, queued(client_id="mine", repo="acme/ledger", installation=7, usage={"cost": 0.5}))
    assert runs.get(run.id, "local") == run == runs.get(run.id) == runs.by_client_id("local", "mine")
    assert runs.get(run.id, "other") is None
    assert runs.by_client_id("other", "mine") is None


def test_the_same_client_id_or_key_gives_the_first_run(runs: Runs) -> None:
    first = made(runs, queued(client_id="c", idempotency_key="k"))
    assert made(runs, queued(client_id="c")).id == first.id
    assert made(runs, queued(idempotency_key="k")).id == first.id
    other = queued(caller="other", client_id="c", idempotency_key="k")
    assert made(runs, other).id == other.id


def test_fifty_starts_with_one_key_make_one_run(runs: Runs) -> None:
    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(lambda _: made(runs, queued(idempotency_key="k")).id, range(50)))
    assert len(set(found)) == 1


@pytest.mark.parametrize(
    ("which", "quota"), [("concurrent", Quota(2)), ("per_minute", Quota(None, 2)), ("per_day", Quota(None, None, 2))]
)
def test_a_crowd_never_gets_past_a_quota(runs: Runs, which: str, quota: Quota) -> None:
    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(lambda n: runs.create(queued(after=n / 100), quota), range(24)))
    assert sum(isinstance(each, Run) for each in found) == 2
    assert {each for each in found if isinstance(each, OverQuota)} == {OverQuota(which, 2)}
    assert isinstance(runs.create(queued(caller="other"), quota), Run)


def test_an_ended_run_counts_for_the_day_but_not_among_the_concurrent(runs: Runs) -> None:
    run = made(runs, queued())
    runs.change(run.id, status="completed", ended_at=START)
    assert isinstance(runs.create(queued(after=1), Quota(1, 2, 2)), Run)
    assert runs.create(queued(after=2), Quota(2, 3, 2)) == OverQuota("per_day", 2)


def test_an_end_is_final(runs: Runs) -> None:
    run = made(runs, queued())
    assert runs.change(run.id, status="cancelled", ended_at=START, control={"cancel_reason": "enough"}) is not None
    assert runs.change(run.id, status="completed") is None
    assert runs.claim(run.id, "w") is None
    late = runs.change(run.id, result={"success": False})
    assert late is not None
    assert (late.status, late.result, late.control) == ("cancelled", {"success": False}, {"cancel_reason": "enough"})


def test_a_change_can_ask_for_the_status_it_starts_from(runs: Runs) -> None:
    run = made(runs, queued())
    assert runs.change(run.id, only_if=["running"], status="paused") is None
    assert runs.change(run.id, only_if=["queued"], status="running") is not None


def test_whoever_claims_locks_the_one_before_out(runs: Runs) -> None:
    run = made(runs, queued())
    first, second = runs.claim(run.id, "one"), runs.claim(run.id, "two")
    assert first is not None
    assert second is not None
    assert (first.epoch, second.epoch, second.worker) == (1, 2, "two")
    with pytest.raises(StaleEpoch):
        runs.change(run.id, epoch=1, status="completed")
    assert [living.id for living in runs.living()] == [run.id]


def test_lists_are_by_the_latest_change_and_go_on_after_the_last_one_seen(runs: Runs) -> None:
    all_of_them = [made(runs, queued(after=n, repo=f"o/r{n % 2}", installation=n % 3)) for n in range(10)]
    made(runs, queued(caller="other"))
    newest = [run.id for run in reversed(all_of_them)]
    first = runs.list("local", limit=4)
    rest = runs.list("local", before=(first[-1].updated_at, first[-1].id), limit=100)
    assert [run.id for run in (*first, *rest)] == newest
    assert [run.id for run in runs.list("local", repo="O/R1", limit=100)] == newest[::2]
    assert len(runs.list("local", installation=0, limit=100)) == 4


def test_letters_are_taken_once_in_order_and_again_by_the_same_step_only(runs: Runs, either: Database) -> None:
    run, inbox = made(runs, queued()), Inbox(either)
    inbox.put(run.id, "message", {"content": "one"})
    inbox.put(run.id, "approval_request", {"command": "curl x"})
    inbox.put(run.id, "message", {"content": "two"})
    claimed = runs.claim(run.id, "w")
    assert claimed is not None
    taken = inbox.take(run.id, claimed.epoch, "step:1", ["message"])
    assert [(letter.number, letter.body["content"]) for letter in taken] == [(1, "one"), (3, "two")]
    inbox.put(run.id, "message", {"content": "three"})
    assert inbox.take(run.id, claimed.epoch, "step:1", ["message"]) == taken
    assert [letter.number for letter in inbox.take(run.id, claimed.epoch, "step:2", ["message"])] == [4]
    with pytest.raises(StaleEpoch):
        inbox.take(run.id, claimed.epoch - 1, "step:3", ["message"])


def test_the_same_key_is_the_same_letter(runs: Runs, either: Database) -> None:
    run, inbox = made(runs, queued()), Inbox(either)
    first, new = inbox.put(run.id, "message", {"content": "one"}, key="k")
    again, second_new = inbox.put(run.id, "message", {"content": "other"}, key="k")
    assert (new, second_new) == (True, False)
    assert again == first
    inbox.change(run.id, first.number, {"content": "changed"})
    assert inbox.read(run.id) == [replace(first, body={"content": "changed"})]
