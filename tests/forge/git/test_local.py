"""Repositories in folders of this machine: read as data, whatever stands in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from drydock.box.limits import MIB
from drydock.errors import PushRefused, RepositoryFailed
from tests.forge.git.conftest import FILES, Bench, replace
from tests.standins.forge import git


@pytest.fixture
def folder(bench: Bench) -> Path:
    """A user's working copy, with a change that is not committed."""
    bare = bench.forge.create("acme/demo", FILES)
    made = bench.folder / "allowed" / "mine"
    made.parent.mkdir()
    git(bench.folder, "clone", "-q", str(bare.path), str(made))
    (made / "README.md").write_text("not committed\n")
    return made


def test_a_folder_is_cloned_as_it_was_committed(bench: Bench, folder: Path) -> None:
    repository = bench.clone(url=str(folder))
    assert repository.default_branch == "main"
    assert bench.shell(bench.workspace(repository), "cat README.md") == "# demo\n"


def test_a_bare_repository_is_cloned_by_its_file_address(bench: Bench, folder: Path) -> None:
    bare = folder.parent / "bare.git"
    git(bench.folder, "clone", "-q", "--bare", str(folder), str(bare))
    assert bench.clone(url=f"file://{bare}").base == git(folder, "rev-parse", "HEAD").decode().strip()


def test_nothing_that_a_folder_configures_is_run(bench: Bench, folder: Path) -> None:
    marker = bench.folder / "pwned"
    evil = bench.folder / "evil"
    evil.write_text(f"#!/bin/sh\ntouch {marker}\n")
    evil.chmod(0o755)
    for key in ("core.fsmonitor", "core.sshCommand", "uploadpack.packObjectsHook", "core.alternateRefsCommand"):
        git(folder, "config", key, str(evil))
    (folder / ".git" / "hooks").mkdir(exist_ok=True)
    for hook in ("post-checkout", "pre-auto-gc", "reference-transaction"):
        (folder / ".git" / "hooks" / hook).write_bytes(evil.read_bytes())
        (folder / ".git" / "hooks" / hook).chmod(0o755)
    assert bench.clone(url=str(folder)).base
    assert not marker.exists()


def test_objects_that_lie_elsewhere_are_not_followed(bench: Bench, folder: Path) -> None:
    other = folder.parent / "borrower"
    git(bench.folder, "clone", "-q", "--shared", str(folder), str(other))
    with pytest.raises(RepositoryFailed, match="borrows its objects") as failed:
        bench.clone(url=str(other))
    assert "git repack" in failed.value.remedy


def test_a_worktree_points_elsewhere_and_is_refused(bench: Bench, folder: Path) -> None:
    other = folder.parent / "worktree"
    git(folder, "worktree", "add", "-q", str(other))
    with pytest.raises(RepositoryFailed, match="no repository by itself"):
        bench.clone(url=str(other))


def test_a_link_among_the_references_is_not_read(bench: Bench, folder: Path) -> None:
    (folder / ".git" / "refs" / "heads" / "leak").symlink_to("/etc/passwd")
    repository = bench.clone(url=str(folder))
    done = bench.run(repository._box.run(["/bin/sh", "-c", "grep -r root: /box || true"]))
    assert done.out == b""


def test_a_folder_that_is_too_large_is_not_copied(bench: Bench, folder: Path) -> None:
    with (folder / ".git" / "objects" / "huge").open("wb") as file:
        file.truncate(20 * MIB)
    with pytest.raises(RepositoryFailed, match="larger than a repository may be"):
        bench.clone(url=str(folder), terms=replace(bench.terms, clone_bytes=8 * MIB))


def test_a_folder_is_never_written_to(bench: Bench, folder: Path) -> None:
    repository = bench.clone(url=str(folder))
    before = sorted(path for path in folder.rglob("*"))
    with pytest.raises(PushRefused, match="not written to"):
        bench.run(repository.push(repository.base, "drydock/run-1"))
    assert sorted(path for path in folder.rglob("*")) == before
