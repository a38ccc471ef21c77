"""Cloning: what it takes, what a remote may do to it, and what it says when it does not work."""

from __future__ import annotations

from pathlib import Path

import pytest

from drydock.box.limits import MIB
from drydock.errors import RepositoryFailed, RepositoryRefused
from drydock.forge.git import exchange
from drydock.forge.git.repository import Repository
from drydock.forge.git.source import Sources
from tests.forge.git.conftest import FILES, Bench, replace
from tests.standins.forge import Forge, faults, git

REFS = "/acme/demo.git/info/refs"
PACK = "/acme/demo.git/git-upload-pack"
ADVERTISEMENT = "application/x-git-upload-pack-advertisement"
PACKFILE = b"000dpackfile\n"
RESULT = "application/x-git-upload-pack-result"


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same bounds, in less time."""
    defaults = {"silence_s": 0.6, "window_s": 1.0, "window_bytes": 30_000}
    real = exchange.Pace.__init__

    def shorter(self: exchange.Pace, bytes_left: int, **more: float) -> None:
        real(self, bytes_left, **{**defaults, **more})  # type: ignore[arg-type]

    monkeypatch.setattr(exchange.Pace, "__init__", shorter)


def fails(bench: Bench, **how: object) -> RepositoryFailed:
    before = set(bench.folder.iterdir())
    with pytest.raises(RepositoryFailed) as failed:
        bench.clone(**how)  # type: ignore[arg-type]
    assert set(bench.folder.iterdir()) == before, "something was left"
    return failed.value


def log(bench: Bench, count: str) -> str:
    return bench.shell(bench.workspace(bench.clone(depth=int(count))), "git log --format=%s").strip()


def test_the_depth_is_the_one_that_was_asked_for(bench: Bench) -> None:
    bare = bench.forge.create("acme/demo", FILES)
    for number in range(4):
        bare.commit({"file": b"%d" % number}, message=f"commit {number}")
    assert log(bench, "1") == "commit 3"
    assert log(bench, "3").split("\n")[-1] == "commit 1"
    assert log(bench, "0").split("\n")[-1] == "a commit"


def test_the_whole_history_comes_on_demand(bench: Bench) -> None:
    bare = bench.forge.create("acme/demo", FILES)
    bare.commit({"file": b"2"})
    repository = bench.clone()
    bench.run(repository.deepen())
    bench.run(repository.deepen())
    assert bench.shell(bench.workspace(repository), "git rev-list --count HEAD").strip() == "2"


@pytest.mark.parametrize("ref", ["side", "refs/heads/side", "refs/pull/1/head", "v1"])
def test_a_branch_a_tag_or_a_full_reference_is_cloned(bench: Bench, ref: str) -> None:
    bare = bench.forge.create("acme/demo", FILES)
    side = bare.commit({"file": b"side"}, branch="side")
    git(bare.path, "update-ref", "refs/pull/1/head", side)
    git(bare.path, "tag", "v1", side)
    repository = bench.clone(ref=ref)
    assert (repository.base, repository.default_branch) == (side, "main")


def test_a_commit_is_cloned_by_its_hash(bench: Bench) -> None:
    bare = bench.forge.create("acme/demo", FILES)
    first = bare.find("main")
    bare.commit({"file": b"2"})
    assert bench.clone(ref=first).base == first


def test_a_ref_that_is_not_there_is_named(bench: Bench) -> None:
    bench.forge.create("acme/demo", FILES)
    assert "'nowhere'" in fails(bench, ref="nowhere").message


def test_a_ref_that_is_an_option_is_refused_before_anything_starts(bench: Bench) -> None:
    bench.forge.create("acme/demo", FILES)
    with pytest.raises(RepositoryRefused):
        bench.clone(ref="--upload-pack=touch /tmp/pwned")
    assert bench.forge.asked == []


def test_an_empty_repository_is_told_apart(bench: Bench) -> None:
    bench.forge.create("acme/demo", {})
    assert "empty" in fails(bench).message


def test_a_default_branch_of_another_name_is_found(bench: Bench) -> None:
    bench.forge.create("acme/demo", FILES, branch="trunk")
    assert bench.clone().default_branch == "trunk"


def test_a_private_repository_wants_a_token_and_says_so(bench: Bench) -> None:
    bench.forge.create("acme/demo", FILES, private=True)
    assert "asks for a credential (401)" in fails(bench).message
    assert bench.clone(token=bench.forge.tokens.issue(write=False)).base


def test_an_expired_token_is_not_tried_twice(bench: Bench) -> None:
    bench.forge.create("acme/demo", FILES, private=True)
    token = bench.forge.tokens.issue()
    bench.forge.tokens.expire(token)
    failed = fails(bench, token=token)
    assert "does not accept the credential" in failed.message
    assert not failed.retryable
    assert len(bench.forge.asked) == 1


def test_a_repository_that_is_not_there_is_not_there(bench: Bench) -> None:
    assert "no such repository" in fails(bench).message


def test_a_failure_of_the_moment_is_tried_again_once(bench: Bench) -> None:
    bare = bench.forge.create("acme/demo", FILES)
    bench.forge.behave(REFS, faults.status(503), times=1)
    assert bench.clone().base == bare.find("main")


def test_a_failure_that_stays_is_told(bench: Bench) -> None:
    bench.forge.create("acme/demo", FILES)
    bench.forge.behave(REFS, faults.status(503))
    failed = fails(bench)
    assert ("answered 503" in failed.message, failed.retryable) == (True, True)
    assert len(bench.forge.asked) == 2


def test_a_pack_that_breaks_off_is_no_clone(bench: Bench) -> None:
    bench.forge.create("acme/demo", FILES)
    bench.forge.behave(PACK, faults.none, faults.none, faults.cut_after(40))
    assert fails(bench).retryable


def test_a_remote_that_says_nothing_is_given_up(bench: Bench) -> None:
    bench.forge.create("acme/demo", FILES)
    bench.forge.behave(REFS, faults.silent)
    assert "too little or nothing" in fails(bench).message


def test_a_remote_that_drips_is_given_up(bench: Bench) -> None:
    bench.forge.create("acme/demo", FILES)
    bench.forge.behave(PACK, *[faults.none, faults.none, faults.drip(RESULT, PACKFILE)] * 2)
    assert "too little or nothing" in fails(bench).message


def test_a_remote_that_never_ends_is_cut_at_the_size_of_a_repository(bench: Bench) -> None:
    bench.forge.create("acme/demo", FILES)
    bench.forge.behave(PACK, faults.none, faults.none, faults.endless(RESULT, PACKFILE))
    small = replace(bench.terms, clone_bytes=8 * MIB)
    failed = fails(bench, terms=small)
    assert "more than a repository may have" in failed.message
    assert not failed.retryable


def test_an_advertisement_that_never_ends_is_cut_too(bench: Bench) -> None:
    bench.forge.create("acme/demo", FILES)
    bench.forge.behave(REFS, faults.endless(ADVERTISEMENT))
    assert fails(bench, terms=replace(bench.terms, clone_bytes=8 * MIB))


def test_a_repository_that_unpacks_to_more_than_it_may_is_refused(bench: Bench) -> None:
    """A few kilobytes of pack that are gigabytes once they are spread out."""
    bench.forge.create("acme/demo", {f"bomb-{n}": bytes(8 * MIB) for n in range(12)})
    failed = fails(bench, terms=replace(bench.terms, clone_bytes=8 * MIB))
    assert "100663296 bytes" in failed.message


def test_a_tree_that_multiplies_is_stopped_by_the_bounds_of_gits_box(bench: Bench) -> None:
    """The git bomb: ten levels of ten times the same tree."""
    bare = bench.forge.create("acme/demo", FILES)
    blob = git(bare.path, "hash-object", "-w", "--stdin", stdin=b"x").decode().strip()
    tree = git(bare.path, "mktree", stdin="".join(f"100644 blob {blob}\tf{n}\n" for n in range(10)).encode())
    for _ in range(9):
        lines = "".join(f"040000 tree {tree.decode().strip()}\td{n}\n" for n in range(10))
        tree = git(bare.path, "mktree", stdin=lines.encode())
    sha = git(bare.path, "commit-tree", tree.decode().strip(), "-m", "bomb").decode().strip()
    git(bare.path, "update-ref", "refs/heads/main", sha)
    failed = fails(bench, terms=replace(bench.terms, seconds=20.0))
    assert "more than 200000 files" in failed.message


@pytest.mark.parametrize("name", [".git/config", ".GIT/config", "git~1/config", "a/.git/hooks/post-checkout"])
def test_a_repository_with_a_git_folder_in_it_is_not_spread_out(bench: Bench, name: str) -> None:
    bare = bench.forge.create("acme/demo", FILES)
    blob = git(bare.path, "hash-object", "-w", "--stdin", stdin=b"[core]\n\tfsmonitor = touch /tmp/pwned\n")
    parts = name.split("/")
    sha, kind, mode = blob.decode().strip(), "blob", "100755"
    for part in reversed(parts):
        sha = git(bare.path, "mktree", "--missing", stdin=f"{mode} {kind} {sha}\t{part}\n".encode()).decode().strip()
        kind, mode = "tree", "040000"
    commit = git(bare.path, "commit-tree", sha, "-m", "trap").decode().strip()
    git(bare.path, "update-ref", "refs/heads/main", commit)
    repository = bench.clone()
    with pytest.raises(RepositoryFailed, match="invalid path"):
        bench.run(repository.into(bench.box(), "repo"))


def test_what_is_no_repository_is_told_apart(bench: Bench) -> None:
    bench.forge.create("acme/demo", FILES)
    bench.forge.behave(REFS, faults.instead("text/html", b"<form>log in</form>"))
    assert "not as git's protocol has it" in fails(bench).message


def test_a_remote_that_lies_in_its_pack_is_not_believed(bench: Bench) -> None:
    bench.forge.create("acme/demo", FILES)
    bench.forge.behave(
        PACK, faults.none, faults.none, faults.instead(RESULT, b"000dpackfile\n0013\1PACK\0\0\0\2\0\0\0\1xx0000")
    )
    assert "could not be fetched" in fails(bench).message


def test_words_of_a_remote_are_shown_without_what_moves_a_terminal(bench: Bench) -> None:
    bench.forge.create("acme/demo", FILES)
    line = b"ERR \x1b[2Jgo away\x07"
    body = b"%04x%b" % (len(line) + 4, line)
    bench.forge.behave(REFS, faults.instead(ADVERTISEMENT, b"001e# service=git-upload-pack\n0000" + body))
    said = fails(bench).message
    assert "go away" in said
    assert said.isprintable()


def test_a_repository_that_moved_is_found_where_it_is(bench: Bench) -> None:
    bare = bench.forge.create("acme/renamed", FILES, private=True)
    bench.forge.behave(REFS, faults.redirect("/acme/renamed.git/info/refs?service=git-upload-pack"))
    assert bench.clone(token=bench.forge.tokens.issue()).base == bare.find("main")


def test_a_redirect_to_another_host_takes_no_credential_along(bench: Bench) -> None:
    with Forge() as other:
        bare = other.create("acme/demo", FILES)
        bench.forge.create("acme/demo", FILES)
        there = other.origin + REFS + "?service=git-upload-pack"
        bench.forge.behave(REFS, faults.redirect(there))
        repository = bench.clone(token=bench.forge.tokens.issue())
        assert repository.base == bare.find("main")
        assert len(other.asked) >= 2
        assert not any("authorization" in asked.headers for asked in other.asked)


@pytest.mark.parametrize(
    "there",
    [
        "https://user:pass@host.example/a.git/info/refs?service=git-upload-pack",
        "file:///etc/passwd",
        "gopher://127.0.0.1/info/refs?service=git-upload-pack",
        "/login",
        "/acme/demo.git/info/refs?service=git-receive-pack",
        "http://169.254.169.254/latest/info/refs?service=git-upload-pack",
    ],
)
def test_a_redirect_that_leads_to_no_repository_is_not_followed(bench: Bench, there: str) -> None:
    bench.forge.create("acme/demo", FILES)
    bench.forge.behave(REFS, faults.redirect(there))
    fails(bench)
    assert set(bench.forge.paths()) == {REFS + "?service=git-upload-pack"}


def test_a_redirect_in_circles_ends(bench: Bench) -> None:
    bench.forge.create("acme/demo", FILES)
    bench.forge.behave(REFS, faults.redirect(REFS + "?service=git-upload-pack"))
    assert "circles" in fails(bench).message


def test_the_work_itself_is_never_redirected(bench: Bench) -> None:
    with Forge() as other:
        bench.forge.create("acme/demo", FILES)
        bench.forge.behave(PACK, faults.none, faults.none, faults.redirect(other.origin + PACK, 307))
        fails(bench)
        assert other.asked == []


def test_a_host_at_a_private_address_is_not_asked(bench: Bench) -> None:
    bench.forge.create("acme/demo", FILES)
    failed = fails(bench, url=f"https://127.0.0.1:{bench.forge.port}/acme/demo.git".replace("127.0.0.1", "127.0.0.2"))
    assert "DRYDOCK_GIT_HOSTS_ALLOW" in failed.remedy
    assert bench.forge.asked == []


def test_a_name_for_the_metadata_address_is_not_asked_even_if_it_is_allowed(bench: Bench) -> None:
    source = Sources(["169.254.169.254"], []).read("http://169.254.169.254/a.git")
    with pytest.raises(RepositoryFailed, match="not public"):
        bench.run(Repository.clone(bench.terms, bench.folder / "metadata", source))


def test_no_module_is_fetched(bench: Bench) -> None:
    with Forge() as other:
        inner = other.create("acme/inner", FILES)
        modules = f'[submodule "inner"]\n\tpath = inner\n\turl = {other.url("acme/inner")}\n'.encode()
        bench.forge.create("acme/demo", {".gitmodules": modules, "inner": ("160000", inner.find("main").encode())})
        repository = bench.clone()
        box = bench.workspace(repository)
        assert bench.shell(box, "ls -A inner") == ""
        assert other.asked == []
        tree = bench.run(repository.tree_from(box, "repo"))
        assert bench.run(repository.diff(repository.base, tree.sha)).files == ()


def test_a_filter_that_a_repository_names_is_not_run(bench: Bench) -> None:
    """LFS and its kin: what is cloned is what is stored, a pointer stays a pointer."""
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"
    files = {
        ".gitattributes": b"*.bin filter=lfs diff=lfs -text\n*.txt text eol=crlf\n",
        "a.bin": pointer,
        "a.txt": b"a\n",
    }
    bench.forge.create("acme/demo", files)
    repository = bench.clone()
    box = bench.workspace(repository)
    assert bench.shell(box, "cat a.bin").encode() == pointer
    assert bench.shell(box, "od -c a.txt | head -1").split() == ["0000000", "a", "\\n"]
    tree = bench.run(repository.tree_from(box, "repo"))
    assert bench.run(repository.diff(repository.base, tree.sha)).files == ()


def test_the_token_is_nowhere_but_in_the_header(bench: Bench) -> None:
    bench.forge.create("acme/demo", FILES, private=True)
    token = bench.forge.tokens.issue()
    repository = bench.clone(token=token)
    box = bench.workspace(repository)
    pattern = f"[g]{token[1:]}"  # which does not find itself
    assert bench.shell(box, f"grep -rl '{pattern}' /box /proc/*/environ /proc/*/cmdline 2>/dev/null || true") == ""
    script = f"cat /proc/*/environ; grep -rl '{pattern}' /box || true"
    assert token[4:] not in bench.run(repository._box.run(["/bin/sh", "-c", script])).text()
    assert token not in bench.said.getvalue()
    for path in bench.folder.rglob("*.json"):
        assert token not in path.read_text()


def test_git_in_its_box_has_no_network(bench: Bench) -> None:
    bench.forge.create("acme/demo", FILES)
    repository = bench.clone()
    asked = len(bench.forge.asked)
    done = bench.run(
        repository._box.run(["/usr/bin/git", "ls-remote", bench.forge.url("acme/demo")], code=128, doing="spy")
    )
    assert done.code == 128
    assert len(bench.forge.asked) == asked


def test_a_clone_outlives_the_process_that_made_it(bench: Bench) -> None:
    bench.forge.create("acme/demo", FILES)
    repository = bench.clone()
    base, home = repository.base, repository._home
    bench.run(repository.close())
    again = bench.run(Repository.open(bench.terms, home, repository.source))
    assert (again.base, again.default_branch) == (base, "main")
    box = bench.box()
    bench.run(again.into(box, "repo"))
    assert bench.shell(box, "cat README.md") == "# demo\n"
    bench.run(again.close())


def test_a_folder_without_a_finished_clone_is_refused(bench: Bench, tmp_path: Path) -> None:
    source = bench.sources.read(bench.forge.url("acme/demo"))
    with pytest.raises(RepositoryFailed, match="no finished clone"):
        bench.run(Repository.open(bench.terms, tmp_path / "none", source))
