"""A repository on the caller's own disk: what goes to the server is its HEAD, what comes back is a new branch.

Nothing here touches the working tree, the index or a branch that is there: the patch is applied to the commit that the
run began from, in an index of its own, and the commit that is made of it gets a name that was free.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from drydock.errors import Invalid

HERE = ("127.0.0.1", "localhost", "::1")
SAFE = ("--no-optional-locks", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false")
"""Git of ours runs nothing that the repository names, and looking at it does not write to its index."""


@dataclass(frozen=True, slots=True)
class LocalRepository:
    folder: Path
    """Its top."""
    begin: str
    """Hash of the commit that a run of it begins from: HEAD, if no other is asked for."""
    changes: int
    """Paths with changes that are not committed, which the run does not see."""

    def land(self, patch: bytes, commit: Mapping[str, Any]) -> str:
        """Make the commit that the server has made, on the branch of its name; the commit's hash.

        Its hash holds the tree, the parent, the words and the date: that it is the same here says that nothing was
        lost or added on the way."""
        made = {"NAME": str(commit["author"]["name"]), "EMAIL": str(commit["author"]["email"])}
        made["DATE"] = datetime.fromisoformat(str(commit["at"])).strftime("%s %z")
        who = {f"GIT_{who}_{what}": told for who in ("AUTHOR", "COMMITTER") for what, told in made.items()}
        with tempfile.TemporaryDirectory(prefix="drydock-") as scratch:
            own = {"GIT_INDEX_FILE": f"{scratch}/index"}
            git(self.folder, "read-tree", self.begin, env=own)
            git(self.folder, "apply", "--cached", "--binary", "--whitespace=nowarn", "-", env=own, given=patch)
            tree = git(self.folder, "write-tree", env=own)
        message = str(commit["message"]).encode() + b"\n"
        sha = git(self.folder, "commit-tree", tree, "-p", self.begin, "-F", "-", env=who, given=message)
        if sha != commit["sha"]:
            raise Invalid(
                f"the patch makes the commit {sha[:12]} here, and {str(commit['sha'])[:12]} on the server",
                where="--repo",
                hint="No branch was made. The run has its patch still: drydock runs diff.",
            )
        git(self.folder, "update-ref", "-m", "drydock run", f"refs/heads/{commit['branch']}", sha, "0" * 40)
        return sha


def is_local(given: str) -> bool:
    """A folder that is there, or something that can only mean one."""
    return given.startswith((".", "/", "~")) or Path(given).is_dir()


def find(given: str, server: str, begin: str = "HEAD") -> LocalRepository:
    """The repository that the folder is in. Invalid when it is none, or when that server is not on this machine."""
    folder = Path(given).expanduser()
    if not folder.is_dir():
        raise Invalid(f"there is no folder {given}", where="--repo", hint="Give a folder, or https://HOST/OWNER/NAME.")
    if urlsplit(server).hostname not in HERE:
        raise Invalid(
            f"the server {server} is not on this machine and cannot read {given}",
            where="--repo",
            hint="Push the repository and give its https address.",
        )
    top = Path(git(folder, "rev-parse", "--show-toplevel", wrong=f"{given} is in no git repository"))
    found = git(
        top, "rev-parse", "--verify", "--end-of-options", f"{begin}^{{commit}}", wrong=f"{given} has no commit {begin}"
    )
    changes = git(top, "status", "--porcelain=v1", "--ignore-submodules=all")
    return LocalRepository(top, found, len(changes.splitlines()))


def git(
    folder: Path, *arguments: str, env: Mapping[str, str] | None = None, given: bytes = b"", wrong: str = ""
) -> str:
    """Its output, in UTC and with the answers of its own commands only. Invalid when it fails."""
    argv: Sequence[str] = ["git", *SAFE, "-C", str(folder), *arguments]
    try:
        done = subprocess.run(argv, input=given, capture_output=True, env={**os.environ, **(env or {})})
    except FileNotFoundError:
        raise Invalid("there is no git on this machine", where="--repo", hint="Install git.") from None
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise Invalid(wrong or f"git {arguments[0]} failed: {said[-1] if said else ''}", where="--repo", hint=_HINT)
    return done.stdout.decode("utf-8", "surrogateescape").strip()


_HINT = "Name the folder of a repository that has a commit; `git status` there says more."
