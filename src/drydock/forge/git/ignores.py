"""Which paths git would leave out. Asked of git, in its box, over copies of the .gitignore files and nothing else."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from drydock.box.program import TMP
from drydock.forge.git.box import GIT, GitBox
from drydock.forge.git.scan import Entry

TREE = f"{TMP}/ignores"


class Ignores:
    """For one scan of one folder."""

    def __init__(self, box: GitBox) -> None:
        self._box = box
        self._known = False

    async def among(self, entries: Sequence[Entry], more: Mapping[bytes, bytes]) -> set[bytes]:
        """Those of the entries that are ignored, once the .gitignore files of their level are known too."""
        if more:
            await self._learn(more)
        if not self._known or not entries:
            return set()
        # A dot before it, lest its own first character be taken for pathspec magic. The slash behind it says that it
        # is a folder: in git's box there is none.
        asked = [b"./%b/" % each.path if each.kind == "folder" else b"./" + each.path for each in entries]
        argv = [GIT, f"--work-tree={TREE}", "-c", "core.bare=false", "check-ignore", "-z", "--stdin", "--no-index"]
        stdin, env = b"\0".join(asked) + b"\0", {"GIT_LITERAL_PATHSPECS": "0"}
        done = await self._box.run(argv, stdin=stdin, env=env, doing="what is ignored could not be told", code=1)
        return {path.removeprefix(b"./").rstrip(b"/") for path in done.out.split(b"\0") if path}

    async def _learn(self, more: Mapping[bytes, bytes]) -> None:
        script = '[ $1 = yes ] || rm -rf -- "$0"; mkdir -p -- "$0"'
        if not self._known:
            await self._box.run(["/bin/sh", "-c", script, TREE, "no"])
            self._known = True
        files = {f"{TREE}/{os.fsdecode(path)}": data for path, data in more.items()}
        await self._box.run(["/bin/true"], files=files)
