"""A repository's way: cloned, spread out in a box, taken back, compared, committed, pushed."""

from __future__ import annotations

from datetime import UTC, datetime

from drydock.forge.git.credential import of_token
from drydock.forge.git.repository import Author
from tests.forge.git.conftest import FILES, Bench
from tests.standins.forge import git

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
AUTHOR = Author("Drydock", "drydock@localhost")


def test_a_change_in_a_box_becomes_a_branch_on_the_remote(bench: Bench) -> None:
    bare = bench.forge.create("acme/demo", FILES)
    token = bench.forge.tokens.issue()
    repository = bench.clone(token=token)
    assert (repository.default_branch, repository.base) == ("main", bare.find("main"))
    box = bench.workspace(repository)
    bench.shell(box, "echo new > new.txt; rm README.md; chmod +x src/main.py; ln -s ../new.txt src/link; git status")
    tree = bench.run(repository.tree_from(box, "repo"))
    assert tree.left_out == ()
    sha = bench.run(repository.commit(tree.sha, repository.base, "feat: new", AUTHOR, AT))
    bench.run(repository.push(sha, "drydock/run-1", credential=of_token(token)))
    assert bare.find("drydock/run-1") == sha
    assert bare.files(sha) == {"new.txt": b"new\n", "src/main.py": FILES["src/main.py"], "src/link": b"../new.txt"}
    modes = git(bare.path, "ls-tree", "-r", sha).decode()
    assert "100755" in modes
    assert "120000" in modes
