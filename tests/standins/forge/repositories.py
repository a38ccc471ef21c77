"""Bare repositories of the forge: filled from values, read as values."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

WHO = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER") for what, value in
       (("NAME", "octocat"), ("EMAIL", "octocat@example.test"), ("DATE", "1700000000 +0000"))}  # fmt: skip
ENV = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    **WHO,
}
Files = Mapping[str, bytes | tuple[str, bytes]]
"""Path (what is not UTF-8 as surrogates) -> contents, or mode and contents: of a link where it leads, of a module its
hash."""


def git(folder: Path, *arguments: str, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> bytes:
    """Git as the tests' own witness, outside of any box."""
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments], input=stdin, capture_output=True, env={**ENV, **(env or {})}
    )
    assert done.returncode == 0, (arguments, done.stderr.decode("utf-8", "replace"))
    return done.stdout


class BareRepository:
    def __init__(self, path: Path, files: Files, *, branch: str = "main") -> None:
        self.path = path
        path.mkdir(parents=True)
        git(path, "init", "-q", "--bare", "-b", branch)
        git(path, "config", "http.receivepack", "true")
        git(path, "config", "uploadpack.allowAnySHA1InWant", "true")
        if files:
            self.commit(files, branch=branch)

    def commit(self, files: Files, *, branch: str = "main", message: str = "a commit", onto: str | None = None) -> str:
        """These files and no others, as the branch's next commit."""
        before = onto or self.find(branch)
        parents = ["-p", before] if before else []
        tree = self.tree(files)
        sha = git(self.path, "commit-tree", tree, *parents, "-m", message).decode().strip()
        git(self.path, "update-ref", f"refs/heads/{branch}", sha)
        return sha

    def tree(self, files: Files) -> str:
        index = {"GIT_INDEX_FILE": str(self.path / "index.test")}
        (self.path / "index.test").unlink(missing_ok=True)
        lines = []
        for path, told in files.items():
            mode, data = told if isinstance(told, tuple) else ("100644", told)
            sha = data if mode == "160000" else git(self.path, "hash-object", "-w", "--stdin", stdin=data).strip()
            lines.append(b"%b %b\t%b\0" % (mode.encode(), sha, os.fsencode(path)))
        git(self.path, "update-index", "-z", "--add", "--index-info", stdin=b"".join(lines), env=index)
        return git(self.path, "write-tree", env=index).decode().strip()

    def find(self, branch: str) -> str:
        """Its hash, or nothing."""
        told = git(self.path, "for-each-ref", "--format=%(objectname)", f"refs/heads/{branch}")
        return told.decode().strip()

    def branches(self) -> dict[str, str]:
        told = git(self.path, "for-each-ref", "--format=%(refname:lstrip=2) %(objectname)", "refs/heads").decode()
        return dict(line.split(" ") for line in told.splitlines())

    def files(self, rev: str) -> dict[str, bytes]:
        names = git(self.path, "ls-tree", "-r", "-z", "--name-only", rev).decode("utf-8", "surrogateescape")
        return {name: git(self.path, "cat-file", "blob", f"{rev}:{name}") for name in names.split("\0") if name}
