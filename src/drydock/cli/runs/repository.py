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
from pathlib import Path
from urllib.parse import urlsplit

from drydock.errors import Invalid

HERE = ("127.0.0.1", "localhost", "::1")
SAFE = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false")
"""Git of ours runs nothing that the repository names."""


@dataclass(frozen=True, slots=True)
class LocalRepository:
    folder: Path
    """Its top."""
    head: str
    changes: int
    """Paths with changes that are not committed, which the run does not see."""

    def land(self, patch: bytes, branch: str, message: str) -> str:
        """Commit the patch on top of the commit that the run began from, on a new branch; the commit's hash."""
        with tempfile.TemporaryDirectory(prefix="drydock-") as scratch:
            own = {"GIT_INDEX_FILE": f"{scratch}/index"}
            _git(self.folder, "read-tree", self.head, env=own)
            _git(self.folder, "apply", "--cached", "--binary", "--whitespace=nowarn", "-", env=own, given=patch)
            tree = _git(self.folder, "write-tree", env=own)
            sha = _git(self.folder, "commit-tree", tree, "-p", self.head, "-F", "-", given=message.encode())
        _git(self.folder, "update-ref", "-m", "drydock run", f"refs/heads/{branch}", sha, "0" * 40)
        return sha


def is_local(given: str) -> bool:
    """A folder that is there, or something that can only mean one."""
    return given.startswith((".", "/", "~")) or Path(given).is_dir()


def find(given: str, server: str) -> LocalRepository:
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
    top = Path(_git(folder, "rev-parse", "--show-toplevel", wrong=f"{given} is in no git repository"))
    head = _git(top, "rev-parse", "--verify", "HEAD^{commit}", wrong=f"{given} has no commit yet")
    changes = _git(top, "status", "--porcelain=v1", "--ignore-submodules=all")
    return LocalRepository(top, head, len(changes.splitlines()))


def _git(
    folder: Path, *arguments: str, env: Mapping[str, str] | None = None, given: bytes = b"", wrong: str = ""
) -> str:
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
