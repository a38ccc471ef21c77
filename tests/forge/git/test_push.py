"""Commits and pushes: the same every time, once, to a new branch, and to no other."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone

import pytest

from drydock.errors import Invalid, PushRefused, RepositoryFailed, RepositoryRefused
from drydock.forge.git.credential import of_token
from drydock.forge.git.repository import Author, Repository
from tests.forge.git.conftest import FILES, Bench
from tests.standins.forge import BareRepository, faults, git

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
AUTHOR = Author("Drydock", "drydock@localhost")
WORK = "/acme/demo.git/git-receive-pack"
BRANCH = "drydock/run-1"


class Delivery:
    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.bare: BareRepository = bench.forge.create("acme/demo", FILES)
        self.token = bench.forge.tokens.issue()
        self.repository: Repository = bench.clone(token=self.token)
        self.base = self.repository.base

    def commit(self, message: str = "feat: it", parent: str = "", at: datetime = AT, author: Author = AUTHOR) -> str:
        tree = git(self.bare.path, "rev-parse", f"{self.base}^{{tree}}").decode().strip()
        return self.bench.run(self.repository.commit(tree, parent or self.base, message, author, at))

    def push(self, sha: str, branch: str = BRANCH, *, ours: str | None = None, token: str | None = None) -> None:
        credential = of_token(token or self.token)
        self.bench.run(self.repository.push(sha, branch, ours=ours, credential=credential))

    def refused(self, sha: str, branch: str = BRANCH, *, ours: str | None = None) -> PushRefused:
        before = self.bare.branches()
        with pytest.raises(PushRefused) as refused:
            self.push(sha, branch, ours=ours)
        assert self.bare.branches() == before
        return refused.value

    def pushes(self) -> int:
        return sum(asked.method == "POST" and asked.target == WORK for asked in self.bench.forge.asked)


@pytest.fixture
def delivery(bench: Bench) -> Delivery:
    return Delivery(bench)


def test_the_same_inputs_give_the_same_hash(delivery: Delivery) -> None:
    assert delivery.commit() == delivery.commit()
    assert delivery.commit() != delivery.commit(at=AT + timedelta(seconds=1))
    sha = delivery.commit("subject\n\nbody\n", at=AT.astimezone(timezone(timedelta(hours=2))))
    delivery.push(sha)
    told = git(delivery.bare.path, "log", "-1", "--format=%an|%ae|%cn|%ce|%aI|%cI|%B", sha).decode()
    date = "2026-01-02T05:04:05+02:00"
    assert told == f"Drydock|drydock@localhost|Drydock|drydock@localhost|{date}|{date}|subject\n\nbody\n\n"


@pytest.mark.parametrize("message", ["", " \n", "a\0b"])
def test_a_message_that_is_none_is_refused(delivery: Delivery, message: str) -> None:
    with pytest.raises(Invalid):
        delivery.commit(message)


@pytest.mark.parametrize(("name", "email"), [("", "a@b"), ("a", ""), ("a\nb", "a@b"), ("a", "a> <b"), (" . ", "a")])
def test_an_author_that_would_be_read_as_more_is_refused(name: str, email: str) -> None:
    with pytest.raises(Invalid):
        Author(name, email)


def test_a_message_is_never_an_option_or_a_script(delivery: Delivery) -> None:
    text = "--amend $(touch /tmp/pwned) `id`\n\n# kept\nSigned-off-by: x"
    sha = delivery.commit(text)
    delivery.push(sha)
    assert git(delivery.bare.path, "log", "-1", "--format=%B", sha).decode().rstrip("\n") == text


def test_what_is_there_already_is_not_pushed_again(delivery: Delivery) -> None:
    sha = delivery.commit()
    delivery.push(sha)
    delivery.push(sha)
    assert delivery.pushes() == 1
    assert delivery.bare.find(BRANCH) == sha


def test_our_own_branch_goes_on_from_what_we_left_there(delivery: Delivery) -> None:
    first = delivery.commit()
    delivery.push(first)
    second = delivery.commit("more", parent=first)
    delivery.push(second, ours=first)
    assert delivery.bare.find(BRANCH) == second


def test_a_branch_that_we_left_elsewhere_is_not_ours(delivery: Delivery) -> None:
    first = delivery.commit()
    delivery.push(first)
    delivery.bare.commit({"theirs": b"x"}, branch=BRANCH)
    assert "not of this run" in delivery.refused(delivery.commit("more", parent=first), ours=first).message


def test_a_branch_of_the_name_is_not_written_over(delivery: Delivery) -> None:
    delivery.bare.commit({"theirs": b"x"}, branch=BRANCH, onto=delivery.base)
    assert "on the remote already" in delivery.refused(delivery.commit()).message


def test_history_is_never_rewritten_even_on_our_own_branch(delivery: Delivery) -> None:
    first = delivery.commit()
    delivery.push(first)
    before = delivery.bare.branches()
    with pytest.raises(RepositoryFailed):
        delivery.push(delivery.commit("another"), ours=first)
    assert delivery.bare.branches() == before


@pytest.mark.parametrize("branch", ["main", "Main", "release/2"])
def test_default_and_protected_branches_are_never_written(delivery: Delivery, branch: str) -> None:
    assert "protected" in delivery.refused(delivery.commit(), branch).message
    assert delivery.pushes() == 0


def test_a_default_branch_that_changed_since_the_clone_is_the_one_that_counts(delivery: Delivery) -> None:
    delivery.bare.commit({"x": b"x"}, branch="trunk")
    git(delivery.bare.path, "symbolic-ref", "HEAD", "refs/heads/trunk")
    delivery.refused(delivery.commit(), "trunk")


@pytest.mark.parametrize(
    "branch", ["", "-f", "--force", "refs/heads/main", "+main", "a:refs/heads/main", "HEAD", ":main"]
)
def test_a_branch_that_says_more_than_a_name_is_refused(delivery: Delivery, branch: str) -> None:
    sha = delivery.commit()
    if branch == "+main":
        delivery.push(sha, branch)
        assert delivery.bare.branches() == {"main": delivery.base, "+main": sha}
        return
    with pytest.raises(RepositoryRefused):
        delivery.push(sha, branch)


def test_a_token_that_may_only_read_says_so(delivery: Delivery) -> None:
    reader = delivery.bench.forge.tokens.issue(write=False)
    with pytest.raises(RepositoryFailed, match="does not accept the credential for this"):
        delivery.push(delivery.commit(), token=reader)


def test_a_token_that_expired_in_between_says_so_and_a_new_one_does(delivery: Delivery) -> None:
    sha = delivery.commit()
    delivery.bench.forge.tokens.expire(delivery.token)
    delivery.bench.forge.private.add("acme/demo")
    with pytest.raises(RepositoryFailed, match="401"):
        delivery.push(sha)
    delivery.push(sha, token=delivery.bench.forge.tokens.issue())
    assert delivery.bare.find(BRANCH) == sha


def test_an_answer_that_was_lost_is_no_failure(delivery: Delivery) -> None:
    sha = delivery.commit()
    delivery.bench.forge.behave(WORK, faults.lost_answer, times=1)
    delivery.push(sha)
    assert (delivery.bare.find(BRANCH), delivery.pushes()) == (sha, 1)


def test_a_failure_of_the_remote_is_told_and_may_be_tried_again(delivery: Delivery) -> None:
    sha = delivery.commit()
    delivery.bench.forge.behave(WORK, faults.status(503), times=1)
    with pytest.raises(RepositoryFailed, match="503") as failed:
        delivery.push(sha)
    assert failed.value.retryable
    delivery.push(sha)
    assert delivery.bare.find(BRANCH) == sha


def race(delivery: Delivery) -> Callable[[], object]:
    return lambda: delivery.bare.commit({"theirs": b"x"}, branch=BRANCH, onto=delivery.base)


def test_whoever_is_quicker_keeps_the_branch(delivery: Delivery) -> None:
    sha = delivery.commit()
    delivery.bench.forge.behave(WORK, faults.before(race(delivery)), times=1)
    with pytest.raises(PushRefused, match="somebody else"):
        delivery.push(sha)
    assert delivery.bare.files(BRANCH) == {"theirs": b"x"}


def test_a_remote_whose_hook_refuses_is_heard(delivery: Delivery) -> None:
    hook = delivery.bare.path / "hooks" / "pre-receive"
    hook.write_text('#!/bin/sh\necho "no branches on fridays \x1b[31m" >&2\nexit 1\n')
    hook.chmod(0o755)
    with pytest.raises(RepositoryFailed) as failed:
        delivery.push(delivery.commit())
    assert "pre-receive hook declined" in failed.value.message
    assert "no branches on fridays" in failed.value.message
    assert failed.value.message.isprintable()


def test_a_remote_that_hides_its_default_branch_is_not_written(delivery: Delivery) -> None:
    git(delivery.bare.path, "update-ref", "--no-deref", "HEAD", delivery.base)
    assert "which branch is its default" in delivery.refused(delivery.commit()).message


def test_a_large_push_goes_in_pieces(delivery: Delivery) -> None:
    bench = delivery.bench
    box = bench.box()
    bench.run(delivery.repository.into(box, "repo"))
    bench.shell(box, "head -c 20000000 /dev/urandom > large")
    tree = bench.run(delivery.repository.tree_from(box, "repo"))
    sha = bench.run(delivery.repository.commit(tree.sha, delivery.base, "large", AUTHOR, AT))
    delivery.push(sha)
    assert len(delivery.bare.files(sha)["large"]) == 20_000_000
