"""Which paths git would leave out. Asked of git, in its box, over copies of the .gitignore files and nothing else."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from drydock.box.program import TMP
from drydock.forge.git.box import GIT, GitBox
from drydock.forge.git.scan import Entry

REMEMBERED = 500_000


class Ignores:
    """For one folder of one box. What was asked once is known for as long as the rules are the same."""

    def __init__(self, box: GitBox, number: int) -> None:
        self._box = box
        self._tree = f"{TMP}/ignores-{number}"
        self._rules: dict[bytes, bytes] = {}
        """The .gitignore files that lie in `_tree` now."""
        self._answers: dict[bytes, bool] = {}

    async def among(self, entries: Sequence[Entry], rules: Mapping[bytes, bytes], depth: int) -> set[bytes]:
        """Those of the entries of this depth that are ignored; `rules` are the .gitignore files among them.

        Levels are asked from the top down, and a rule counts for its own level and those below.
        """
        if {path: data for path, data in self._rules.items() if path.count(b"/") == depth} != rules:
            above = {path: data for path, data in self._rules.items() if path.count(b"/") < depth}
            await self._learn({**above, **rules})
        if not self._rules:
            return set()
        # A dot before it, lest its own first character be taken for pathspec magic. The slash behind it says that it
        # is a folder: in git's box there is none.
        named = {b"./%b/" % each.path if each.kind == "folder" else b"./" + each.path: each.path for each in entries}
        if len(self._answers) > REMEMBERED:
            self._answers.clear()
        if unknown := [name for name in named if name not in self._answers]:
            await self._ask(unknown)
        return {path for name, path in named.items() if self._answers[name]}

    async def _ask(self, names: Sequence[bytes]) -> None:
        argv = [
            GIT,
            f"--work-tree={self._tree}",
            "-c",
            "core.bare=false",
            "check-ignore",
            "-z",
            "--stdin",
            "--no-index",
        ]
        stdin, env = b"\0".join(names) + b"\0", {"GIT_LITERAL_PATHSPECS": "0"}
        done = await self._box.run(argv, stdin=stdin, env=env, doing="what is ignored could not be told", code=1)
        ignored = set(done.out.split(b"\0"))
        self._answers.update((name, name in ignored) for name in names)

    async def _learn(self, rules: dict[bytes, bytes]) -> None:
        self._answers.clear()
        self._rules = {}  # should this not come to its end, nothing is known
        await self._box.run(["/bin/sh", "-c", 'rm -rf -- "$0"; mkdir -p -- "$0"', self._tree])
        files = {f"{self._tree}/{os.fsdecode(path)}": data for path, data in rules.items()}
        await self._box.run(["/bin/true"], files=files)
        self._rules = rules
