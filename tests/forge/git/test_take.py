"""A folder that its tenant has prepared becomes a tree: every trick that we know, one a test."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest

from drydock.box.held import HeldBox
from drydock.box.program import Program
from drydock.errors import Invalid, RepositoryFailed
from drydock.forge.git.repository import Repository
from drydock.forge.git.tree import Bounds, Tree
from tests.forge.git.conftest import ENV, FILES, Bench, replace
from tests.standins.forge import git


@pytest.fixture
def repository(bench: Bench) -> Repository:
    bench.forge.create("acme/demo", FILES)
    return bench.clone()


@pytest.fixture
def box(bench: Bench, repository: Repository) -> HeldBox:
    return bench.workspace(repository)


def take(bench: Bench, repository: Repository, box: HeldBox, script: str = "", *, anew: bool = False) -> Tree:
    if script:
        bench.shell(box, script)
    return bench.run(repository.tree_from(box, "repo", anew=anew))


def changes(bench: Bench, repository: Repository, tree: Tree) -> dict[str, str]:
    diff = bench.run(repository.diff(repository.base, tree.sha))
    return {each.path: each.kind for each in diff.files}


def contents(bench: Bench, repository: Repository, tree: Tree, path: str) -> bytes:
    return bench.run(repository._box.git("cat-file", "blob", f"{tree.sha}:{path}")).out


def test_an_untouched_folder_is_the_tree_that_it_came_from(bench: Bench, repository: Repository, box: HeldBox) -> None:
    tree = take(bench, repository, box)
    assert tree.left_out == ()
    assert tree.sha == bench.run(repository._box.git("rev-parse", f"{repository.base}^{{tree}}")).text()


def test_the_tenants_own_git_works_on_it(bench: Bench, repository: Repository, box: HeldBox) -> None:
    assert bench.shell(box, "git status --porcelain; git log --format=%s; git branch") == "a commit\n* main\n"
    bench.shell(box, "echo x > x; git add -A; git commit -qm mine; git checkout -qb elsewhere; git rm -q x")
    assert changes(bench, repository, take(bench, repository, box)) == {}


HOSTILE_GIT = r"""
touch=/box/tmp/pwned
printf '#!/bin/sh\ntouch %s\n' $touch > /box/tmp/evil; chmod +x /box/tmp/evil
git config core.fsmonitor /box/tmp/evil
git config core.hooksPath /box/tmp
git config core.sshCommand /box/tmp/evil
git config core.pager /box/tmp/evil
git config diff.external /box/tmp/evil
git config filter.evil.clean /box/tmp/evil
git config filter.evil.smudge /box/tmp/evil
git config diff.evil.textconv /box/tmp/evil
git config core.attributesFile /box/tmp/attributes
git config include.path /box/tmp/more
git config core.worktree /
mkdir -p .git/hooks; cp /box/tmp/evil .git/hooks/post-index-change; cp /box/tmp/evil .git/hooks/pre-commit
echo '* filter=evil diff=evil merge=evil' > .gitattributes
cp .gitattributes .git/info/attributes
echo /etc > .git/objects/info/alternates
touch .git/index.lock .git/HEAD.lock
echo changed > README.md
"""


def test_nothing_of_the_tenants_own_repository_is_read(bench: Bench, repository: Repository, box: HeldBox) -> None:
    tree = take(bench, repository, box, HOSTILE_GIT)
    assert changes(bench, repository, tree) == {".gitattributes": "added", "README.md": "modified"}
    assert contents(bench, repository, tree, "README.md") == b"changed\n"
    assert bench.shell(box, "test -e /box/tmp/pwned && echo RUN || true") == ""
    assert bench.run(repository._box.run(["/bin/sh", "-c", "ls /box/tmp"])).text() == "ignores" * 0
    assert not Path("/box").exists()


def test_attributes_hide_no_change(bench: Bench, repository: Repository, box: HeldBox) -> None:
    script = "echo '* -diff binary linguist-generated -text export-ignore' > .gitattributes; echo secret > README.md"
    diff = bench.run(repository.diff(repository.base, take(bench, repository, box, script).sha))
    assert "+secret" in diff.text


def test_no_line_ending_is_touched(bench: Bench, repository: Repository, box: HeldBox) -> None:
    script = r"echo '* text=auto eol=lf' > .gitattributes; printf 'a\r\nb\n' > mixed; printf '$Id$' > id"
    tree = take(bench, repository, box, script)
    assert contents(bench, repository, tree, "mixed") == b"a\r\nb\n"


@pytest.mark.parametrize(
    "make", ["rm -rf .git; ln -s /etc .git", "rm -rf .git; echo 'gitdir: /etc' > .git", "rm -rf .git"]
)
def test_whatever_stands_in_the_place_of_the_git_folder_is_left_out(
    bench: Bench, repository: Repository, box: HeldBox, make: str
) -> None:
    tree = take(bench, repository, box, make)
    assert (changes(bench, repository, tree), tree.left_out) == ({}, ())


@pytest.mark.parametrize("name", [".GIT", "git~1", ".git ", ".gIt::$INDEX_ALLOCATION", "src/.Git"])
def test_a_git_folder_in_disguise_is_left_out_and_told(
    bench: Bench, repository: Repository, box: HeldBox, name: str
) -> None:
    tree = take(bench, repository, box, f"mkdir '{name}'; echo '[core]' > '{name}/config'; echo fine > fine")
    assert changes(bench, repository, tree) == {"fine": "added"}
    assert [(each.path, each.why) for each in tree.left_out] == [(name, "reserved_name")]


def test_a_link_is_its_text_and_leads_nowhere(bench: Bench, repository: Repository, box: HeldBox) -> None:
    script = "ln -s /etc/passwd link; ln -s ../../../../../../etc up; ln -s loop loop; ln -s / folder"
    tree = take(bench, repository, box, script)
    assert contents(bench, repository, tree, "link") == b"/etc/passwd"
    assert set(changes(bench, repository, tree)) == {"link", "up", "loop", "folder"}
    diff = bench.run(repository.diff(repository.base, tree.sha))
    assert {each.mode for each in diff.files} == {"120000"}


def test_a_link_called_gitmodules_is_left_out(bench: Bench, repository: Repository, box: HeldBox) -> None:
    tree = take(bench, repository, box, "ln -s /etc/passwd .gitmodules; ln -s /etc/passwd .gitignore")
    assert {each.path for each in tree.left_out} == {".gitmodules", ".gitignore"}


def test_a_folder_that_became_a_link_is_a_link(bench: Bench, repository: Repository, box: HeldBox) -> None:
    tree = take(bench, repository, box, "rm -r src; ln -s /etc src")
    assert changes(bench, repository, tree) == {"src": "added", "src/main.py": "deleted"}


@pytest.mark.parametrize("make", ["rm -rf repo; ln -s / repo", "rm -rf repo; echo > repo", "rm -rf repo; mkfifo repo"])
def test_a_repository_whose_folder_was_replaced_is_refused(
    bench: Bench, repository: Repository, box: HeldBox, make: str
) -> None:
    with pytest.raises(RepositoryFailed, match="no folder any more"):
        take(bench, repository, box, f"cd ..; {make}")


@pytest.mark.parametrize("folder", ["", "..", "a/../b", "/etc", "a//b", "-a", "a\0", "repo/"])
def test_a_folder_is_named_plainly(bench: Bench, repository: Repository, box: HeldBox, folder: str) -> None:
    with pytest.raises(Invalid):
        bench.run(repository.tree_from(box, folder))


def test_what_is_no_file_is_left_out_without_being_opened(bench: Bench, repository: Repository, box: HeldBox) -> None:
    script = "mkfifo pipe; python3 -c \"import socket; socket.socket(socket.AF_UNIX).bind('socket')\""
    began = time.monotonic()
    tree = take(bench, repository, box, script)
    assert {(each.path, each.why) for each in tree.left_out} == {("pipe", "not_a_file"), ("socket", "not_a_file")}
    assert time.monotonic() - began < 20


def test_modes_are_those_that_git_knows(bench: Bench, repository: Repository, box: HeldBox) -> None:
    tree = take(bench, repository, box, "for m in 4755 0111 0777 0644 0000; do echo $m > f$m; chmod $m f$m; done")
    diff = bench.run(repository.diff(repository.base, tree.sha))
    assert {each.path: each.mode for each in diff.files} == {
        "f4755": "100755",
        "f0111": "100755",
        "f0777": "100755",
        "f0644": "100644",
        "f0000": "100644",
    }


ODD = r"""':(glob)x' ':!y' $'\xff\xfe' 'ü' $'a\nb' $'\x1b[2J' '"quoted"' ' ' '-rf' 'a\b'"""


def test_names_are_bytes(bench: Bench, repository: Repository, box: HeldBox) -> None:
    tree = take(bench, repository, box, f"touch -- {ODD}; echo o > .gitignore")
    taken = {".gitignore", ":(glob)x", ":!y", "\udcff\udcfe", "ü", '"quoted"', " ", "-rf", "a\\b"}
    assert set(changes(bench, repository, tree)) == taken
    assert {each.why for each in tree.left_out} == {"control_character"}


def test_a_folder_without_a_bottom_is_cut(bench: Bench, repository: Repository, box: HeldBox) -> None:
    script = "python3 -c \"import os\nfor _ in range(3000): os.mkdir('d'); os.chdir('d')\nopen('f', 'w')\""
    tree = take(bench, repository, box, script)
    assert changes(bench, repository, tree) == {}
    assert {each.why for each in tree.left_out} == {"too_deep"}


def test_a_file_that_no_forge_takes_is_left_out_unread(bench: Bench) -> None:
    bench.forge.create("acme/demo", FILES)
    repository = bench.clone(terms=replace(bench.terms, bounds=Bounds(file_bytes=1 << 20)))
    tree = take(bench, repository, bench.workspace(repository), "truncate -s 60M abyss; truncate -s 1M hole")
    assert [(each.path, each.why) for each in tree.left_out] == [("abyss", "too_large")]
    assert changes(bench, repository, tree) == {"hole": "added"}


def test_what_the_base_has_stays_however_large_and_oddly_named_it_is(bench: Bench) -> None:
    files = {"large": bytes(2 << 20), "other": bytes(2 << 20), "a\nb/c\x1bd": b"odd\n"}
    bench.forge.create("acme/demo", files)
    repository = bench.clone(terms=replace(bench.terms, bounds=Bounds(file_bytes=1 << 20)))
    box = bench.workspace(repository)
    assert take(bench, repository, box).left_out == ()
    tree = take(bench, repository, box, r"echo more >> other; echo more >> $'a\nb/c\x1bd'")
    assert changes(bench, repository, tree) == {"a\nb/c\x1bd": "modified"}
    assert [(each.path, each.why) for each in tree.left_out] == [("other", "too_large")]


@pytest.mark.long
def test_a_hundred_thousand_files_are_taken(bench: Bench, repository: Repository) -> None:
    box = bench.box(disk=1 << 30)
    bench.run(repository.into(box, "repo"))
    tree = take(bench, repository, box, "mkdir many; cd many; seq 1 100000 | xargs touch")
    assert len(changes(bench, repository, tree)) == 100_000


def test_more_files_than_a_repository_may_have_are_refused(bench: Bench) -> None:
    bench.forge.create("acme/demo", FILES)
    repository = bench.clone(terms=replace(bench.terms, bounds=Bounds(files=1000)))
    box = bench.workspace(repository)
    with pytest.raises(RepositoryFailed, match="more than 1000 files") as refused:
        take(bench, repository, box, "mkdir many; cd many; seq 1 3000 | xargs touch")
    assert ".gitignore" in refused.value.remedy
    assert changes(bench, repository, take(bench, repository, box, "echo many > .gitignore")) == {".gitignore": "added"}


def test_a_flood_of_oddities_is_bounded_as_well(bench: Bench) -> None:
    bench.forge.create("acme/demo", FILES)
    repository = bench.clone(terms=replace(bench.terms, bounds=Bounds(files=500)))
    box = bench.workspace(repository)
    with pytest.raises(RepositoryFailed, match="more than 500 files"):
        take(bench, repository, box, "seq -f 'p%g' 1 1000 | xargs mkfifo")


def test_more_bytes_than_are_taken_are_refused(bench: Bench) -> None:
    bench.forge.create("acme/demo", FILES)
    repository = bench.clone(terms=replace(bench.terms, bounds=Bounds(new_bytes=1 << 20)))
    box = bench.workspace(repository)
    with pytest.raises(RepositoryFailed, match="are new"):
        take(bench, repository, box, "for n in 1 2 3; do head -c 500000 /dev/urandom > f$n; done")


def test_what_git_would_ignore_is_left_out_and_what_is_tracked_is_not(bench: Bench) -> None:
    files = {".gitignore": b"build/\n*.log\n!keep.log\n", "build/tracked": b"1\n", "old.log": b"1\n", "src/a": b"1\n"}
    bench.forge.create("acme/demo", files)
    repository = bench.clone()
    box = bench.workspace(repository)
    script = (
        "echo 2 > build/tracked; echo 2 > old.log; echo 2 > build/new; echo 2 > new.log; echo 2 > keep.log;"
        "mkdir -p src/build/deep; echo 2 > src/build/deep/x; echo '/a2\nb2/' > src/.gitignore; echo 2 > src/a2;"
        "mkdir src/b2 deep; echo 2 > src/b2/x; echo 2 > deep/a2; echo 2 > src/b2.c; touch 'deep/b2'"
    )
    tree = take(bench, repository, box, script)
    ours = changes(bench, repository, tree)
    theirs = bench.shell(box, "git add -A; git diff --cached --name-only").split()
    assert sorted(ours) == sorted(theirs)
    assert {"build/tracked", "old.log", "keep.log", "deep/a2", "src/b2.c"} <= set(ours)
    assert "build/new" not in ours


def test_rules_that_change_are_asked_anew(bench: Bench, repository: Repository, box: HeldBox) -> None:
    """What was ignored a moment ago may not be now, at its own level and below."""
    begin = "mkdir -p a/b; echo x > a/b/x; echo y > a/y; echo z > z"
    steps = {
        begin: {"a/b/x", "a/y", "z"},
        "echo x > .gitignore": {".gitignore", "a/y", "z"},
        "echo '!x' > a/b/.gitignore": {".gitignore", "a/b/.gitignore", "a/b/x", "a/y", "z"},
        "echo y > a/.gitignore": {".gitignore", "a/.gitignore", "a/b/.gitignore", "a/b/x", "z"},
        "rm a/b/.gitignore; echo w > w": {".gitignore", "a/.gitignore", "w", "z"},
        "rm .gitignore": {"a/.gitignore", "a/b/x", "w", "z"},
        "rm -r a; mkdir a; echo y > a/y": {"a/y", "w", "z"},
        "rm -r * .g* 2>/dev/null || true; mkdir empty": set(),
    }
    for script, expected in steps.items():
        tree = take(bench, repository, box, script)
        kinds = changes(bench, repository, tree)
        assert {path for path, kind in kinds.items() if kind == "added"} == expected, script
    assert tree.sha == "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


@pytest.mark.parametrize(
    "make",
    ["mkdir .gitignore", "mkfifo .gitignore", "truncate -s 5M .gitignore", r"printf '\xff\0\n[\n!\n\\' > .gitignore"],
)
def test_rules_that_are_none_ignore_nothing(bench: Bench, repository: Repository, box: HeldBox, make: str) -> None:
    tree = take(bench, repository, box, f"{make}; echo x > x")
    assert "x" in changes(bench, repository, tree)


def test_rules_that_explode_do_not(bench: Bench, repository: Repository, box: HeldBox) -> None:
    began = time.monotonic()
    take(
        bench,
        repository,
        box,
        "printf '**/%sb\\n' $(printf 'a*%.0s' {1..40}) > .gitignore; touch $(printf 'a%.0s' {1..200})",
    )
    assert time.monotonic() - began < 30


def test_a_repository_within_is_taken_without_its_git_folder(
    bench: Bench, repository: Repository, box: HeldBox
) -> None:
    tree = take(bench, repository, box, "git init -q inner; echo x > inner/x")
    assert changes(bench, repository, tree) == {"inner/x": "added"}


def test_a_module_stays_as_it_is_until_its_folder_goes(bench: Bench) -> None:
    bench.forge.create("acme/demo", {**FILES, "module": ("160000", b"1" * 40)})
    repository = bench.clone()
    box = bench.workspace(repository)
    assert changes(bench, repository, take(bench, repository, box, "echo x > module/x")) == {}
    assert changes(bench, repository, take(bench, repository, box, "rm -r module")) == {"module": "deleted"}


def test_a_second_look_reads_what_changed_alone_and_sees_every_change(
    bench: Bench, repository: Repository, box: HeldBox
) -> None:
    first = take(bench, repository, box, "echo one > f; echo same > g")
    assert take(bench, repository, box).sha == first.sha
    # The same size and the same times as before, as far as a program can set them.
    second = take(bench, repository, box, "touch -r f stamp; echo two > f; touch -r stamp f; rm stamp")
    assert contents(bench, repository, second, "f") == b"two\n"
    third = take(bench, repository, box, "echo six > f; touch -d @0 f", anew=True)
    assert contents(bench, repository, third, "f") == b"six\n"


def test_a_change_in_the_same_tick_of_the_clock_is_seen(bench: Bench, repository: Repository, box: HeldBox) -> None:
    """A writer that never stops: each tree holds one of its values, and the last tree the last one."""

    async def go() -> bytes:
        program = await box.start(
            Program(
                argv=["/bin/sh", "-c", "cd repo; i=100; while [ $i -lt 600 ]; do echo $i > f; i=$((i+1)); done"],
                env=ENV,
            )
        )
        while not program.ended.done():
            await repository.tree_from(box, "repo")
        tree = await repository.tree_from(box, "repo")
        return (await repository._box.git("cat-file", "blob", f"{tree.sha}:f")).out

    assert bench.run(go()) == b"599\n"


def test_entries_that_change_what_they_are_while_they_are_read_lead_nowhere(
    bench: Bench, repository: Repository, box: HeldBox
) -> None:
    script = (
        "while :; do ln -sfn /etc/passwd a; rm -f a; echo mine > a;"
        "rm -rf d; mkdir d; echo x > d/passwd; rm -rf d; ln -s /etc d; rm d; done"
    )

    async def go() -> list[Tree]:
        program = await box.start(Program(argv=["/bin/sh", "-c", f"cd repo; {script}"], env=ENV))
        trees = [await repository.tree_from(box, "repo", anew=True) for _ in range(25)]
        program.stop("cancelled")
        await program.ended
        return trees

    for tree in bench.run(go()):
        for path in ("a", "d/passwd"):
            done = bench.run(repository._box.git("cat-file", "-p", f"{tree.sha}:{path}", code=128))
            assert b"root:" not in done.out


def test_a_folder_can_be_taken_while_it_is_torn_down(bench: Bench, repository: Repository, box: HeldBox) -> None:
    async def go() -> None:
        for _ in range(5):
            filling = Program(
                argv=["/bin/sh", "-c", "cd repo; mkdir -p t; cd t; seq 1 300 | xargs touch; cd ..; rm -rf t"], env=ENV
            )
            program = await box.start(filling)
            await asyncio.gather(repository.tree_from(box, "repo"), program.ended)

    bench.run(go())
    assert changes(bench, repository, take(bench, repository, box)) == {}


def test_another_tree_is_spread_out_over_the_base(bench: Bench, repository: Repository, box: HeldBox) -> None:
    """As a gate does it: a clean second folder with nothing in it but what was taken."""
    tree = take(bench, repository, box, "echo x > x; rm README.md; echo out > .gitignore; echo junk > out")
    other = bench.box()
    bench.run(repository.into(other, "gate", tree=tree.sha))
    said = bench.shell(other, "cd ../work/gate; ls -A; git status --porcelain")
    assert said == ".git\n.gitignore\nsrc\nx\n D README.md\n?? .gitignore\n?? x\n"


def test_two_boxes_are_filled_and_emptied_side_by_side(bench: Bench, repository: Repository, box: HeldBox) -> None:
    other = bench.box()

    async def go() -> list[Tree]:
        await asyncio.gather(
            repository.into(other, "one"), repository.into(other, "two"), repository.into(box, "three")
        )
        return await asyncio.gather(*(repository.tree_from(each, name) for each, name in
                                      ((other, "one"), (other, "two"), (box, "three"), (box, "repo"))))  # fmt: skip

    assert len({tree.sha for tree in bench.run(go())}) == 1


def test_a_box_without_room_is_told(bench: Bench) -> None:
    bench.forge.create("acme/demo", {"big": os.urandom(12 << 20)})
    repository = bench.clone()
    with pytest.raises(RepositoryFailed, match="does not fit"):
        bench.run(repository.into(bench.box(disk=8 << 20), "repo"))


def test_a_merge_that_the_tenant_left_half_done_is_just_files(
    bench: Bench, repository: Repository, box: HeldBox
) -> None:
    tree = take(
        bench, repository, box, "printf '<<<<<<< a\\n=======\\n>>>>>>> b\\n' > README.md; echo x > .git/MERGE_HEAD"
    )
    assert changes(bench, repository, tree) == {"README.md": "modified"}
    assert git(bench.forge.repositories["acme/demo"].path, "rev-parse", "main")
