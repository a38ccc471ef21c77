"""What lies between two trees: every kind of change, and patches that rebuild the very tree in a fresh clone."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from drydock.errors import Invalid, NotFound
from drydock.forge.git.diff import Changed, Diff
from drydock.forge.git.repository import Repository
from tests.forge.git.conftest import Bench
from tests.standins.forge import BareRepository, git
from tests.standins.forge.repositories import Files

LINES = b"".join(b"line %d\n" % number for number in range(30))
BEFORE: Files = {
    "kept": b"kept\n",
    "gone": b"gone\n",
    "text": LINES,
    "old/name": LINES + b"of its own\n",
    "script": b"#!/bin/sh\n",
    "image": bytes(range(256)),
    "link": ("120000", b"kept"),
    "was-file": b"a file\n",
}
AFTER: Files = {
    "kept": b"kept\n",
    "new": b"new, without an end",
    "text": LINES.replace(b"line 7\n", b"line seven\n"),
    "new/name".replace("/", "-"): LINES + b"of its own\n",
    "script": ("100755", b"#!/bin/sh\n"),
    "image": bytes(reversed(range(256))),
    "link": ("120000", b"text"),
    "was-file": ("120000", b"kept"),
    "empty": b"",
    "n\u00e4me with blank": b"x\n",
}


def compared(bench: Bench, before: Files, after: Files, **how: object) -> tuple[Repository, BareRepository, str, Diff]:
    bare = bench.forge.create("acme/demo", before)
    tree = bare.tree(after)
    sha = git(bare.path, "commit-tree", tree, "-m", "after").decode().strip()
    git(bare.path, "update-ref", "refs/heads/after", sha)
    repository = bench.clone(ref="after")
    bench.run(repository._remote.fetch("refs/heads/main", "refs/drydock/before", depth=1, credential=None))
    diff = bench.run(repository.diff(bare.find("main"), tree, **how))  # type: ignore[arg-type]
    return repository, bare, tree, diff


def rebuilt(bare: BareRepository, patch: bytes, folder: Path) -> str:
    """The tree that the patch makes of a fresh clone, by git outside of any box."""
    git(folder.parent, "clone", "-q", str(bare.path), str(folder))
    git(folder, "apply", "--index", "--whitespace=nowarn", "-", stdin=patch)
    return git(folder, "write-tree").decode().strip()


def test_every_kind_of_change_is_there_and_applies(bench: Bench, tmp_path: Path) -> None:
    _, bare, tree, diff = compared(bench, BEFORE, AFTER)
    kinds = {each.path: each for each in diff.files}
    assert {path: each.kind for path, each in kinds.items()} == {
        "gone": "deleted",
        "new": "added",
        "text": "modified",
        "new-name": "renamed",
        "script": "modified",
        "image": "modified",
        "link": "modified",
        "was-file": "type_changed",
        "empty": "added",
        "n\u00e4me with blank": "added",
    }
    assert kinds["new-name"].old_path == "old/name"
    assert (kinds["script"].old_mode, kinds["script"].mode) == ("100644", "100755")
    assert kinds["image"].binary
    assert (kinds["text"].added, kinds["text"].removed) == (1, 1)
    assert rebuilt(bare, diff.patch, tmp_path / "fresh") == tree


def test_one_file_alone_is_shown_a_renamed_one_by_either_name(bench: Bench) -> None:
    repository, bare, tree, _ = compared(bench, BEFORE, AFTER)
    for path in ("old/name", "new-name"):
        diff = bench.run(repository.diff(bare.find("main"), tree, paths=[path]))
        assert [each.path for each in diff.files] == ["new-name"]
        assert "rename from old/name" in diff.text
        assert "gone" not in diff.text


@pytest.mark.parametrize("path", ["kept", "--output=/tmp/x", ":(glob)*", "../x", "*", ""])
def test_a_path_that_did_not_change_is_not_found(bench: Bench, path: str) -> None:
    with pytest.raises(NotFound):
        compared(bench, BEFORE, AFTER, paths=[path])


def test_white_space_is_ignored_on_demand(bench: Bench) -> None:
    before, after = {"a": b"if x:\n  y\n", "b": b"one\n"}, {"a": b"if x:\n      y\n", "b": b"two\n"}
    repository, bare, tree, diff = compared(bench, before, after)
    assert "+      y" in diff.text
    spared = bench.run(repository.diff(bare.find("main"), tree, ignore_space=True))
    assert "+      y" not in spared.text
    assert "+two" in spared.text


def test_binary_contents_can_be_left_out(bench: Bench) -> None:
    _, _, _, diff = compared(bench, {"a": b"\0a"}, {"a": b"\0b"}, binary=False)
    assert "Binary files" in diff.text
    assert "GIT binary patch" not in diff.text


def test_nothing_changed_is_an_empty_patch(bench: Bench) -> None:
    _, _, _, diff = compared(bench, BEFORE, BEFORE)
    assert (diff.patch, diff.files) == (b"", ())


@pytest.mark.parametrize("name", ["HEAD", "main", "--output=/tmp/x", "", "0" * 39, "a" * 40 + "\n"])
def test_a_tree_is_named_by_its_hash_alone(bench: Bench, name: str) -> None:
    repository, bare, _, _ = compared(bench, BEFORE, AFTER)
    with pytest.raises(Invalid):
        bench.run(repository.diff(bare.find("main"), name))


def test_names_that_a_patch_could_lie_with_are_quoted(bench: Bench, tmp_path: Path) -> None:
    after = {'a"b': b"1\n", "\udcff\udcfe": b"2\n", " lead": b"3\n", "b/ c": b"4\n", "a b": b"5\n", "-x": b"6\n"}
    _, bare, tree, diff = compared(bench, {"kept": b"x\n"}, {"kept": b"x\n", **after})
    assert {each.path for each in diff.files} == set(after)
    assert rebuilt(bare, diff.patch, tmp_path / "fresh") == tree


NAMES = st.text(st.sampled_from("ab./ -\"\\\u00e4\u4e2d'$*?[]#~"), min_size=1, max_size=8)
CONTENTS = st.one_of(
    st.binary(max_size=40),
    st.lists(
        st.sampled_from([b"a\n", b"b\n", b"\n", b" a\n", b"a\r\n", b"a", b"\\ No newline\n", b"--- a\n"]), max_size=30
    ).map(b"".join),
)
ENTRY = st.one_of(
    CONTENTS,
    CONTENTS.map(lambda data: ("100755", data)),
    st.binary(min_size=1, max_size=20).filter(lambda data: b"\0" not in data).map(lambda data: ("120000", data)),
)


def fits(path: str) -> bool:
    return all(part not in ("", ".", "..", ".git") for part in path.split("/"))


def no_file_in_the_place_of_a_folder(files: Mapping[str, object]) -> bool:
    folders = {path[:at] for path in files for at, one in enumerate(path) if one == "/"}
    return not folders & files.keys()


TREES = st.dictionaries(NAMES.filter(fits), ENTRY, max_size=6).filter(no_file_in_the_place_of_a_folder)


@pytest.fixture
def laboratory(bench: Bench) -> tuple[Bench, Repository, BareRepository]:
    bare = bench.forge.create("acme/demo", {"kept": b"kept\n"})
    return bench, bench.clone(), bare


@settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(before=TREES, after=TREES, shared=st.dictionaries(NAMES.filter(fits), CONTENTS, max_size=3))
def test_any_tree_is_rebuilt_from_any_other_by_its_patch(
    laboratory: tuple[Bench, Repository, BareRepository], before: Files, after: Files, shared: Files
) -> None:
    bench, repository, bare = laboratory
    old = {"kept": b"kept\n", **(before if not shared else {**before, **shared})}
    new = {"kept": b"kept\n", **(after if not shared else {**shared, **after})}
    if not no_file_in_the_place_of_a_folder(old) or not no_file_in_the_place_of_a_folder(new):
        return
    commits = []
    for name, files in (("one", old), ("two", new)):
        git(bare.path, "update-ref", "-d", f"refs/heads/{name}")
        commits.append(bare.commit(files, branch=name))
        bench.run(repository._remote.fetch(commits[-1], f"refs/drydock/{name}", depth=1, credential=None))
    diff = bench.run(repository.diff(*commits))
    folder = bench.folder / "fresh"
    shutil.rmtree(folder, ignore_errors=True)
    git(bench.folder, "clone", "-q", "--branch", "one", str(bare.path), str(folder))
    if diff.patch:
        git(folder, "apply", "--index", "--whitespace=nowarn", "-", stdin=diff.patch)
    assert git(folder, "write-tree") == git(bare.path, "rev-parse", "two^{tree}")
    assert all(isinstance(each, Changed) and os.fsencode(each.path) for each in diff.files)
