"""What the two installers have in common: a program in the build box, judged by its end and heard while it runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from drydock.box.program import HOME, TMP, Layer, Program
from drydock.box.running import Outcome
from drydock.egress.grants import Ecosystem, FileGrant, PackagesGrant
from drydock.packages import specifiers
from drydock.packages.bench import Bench
from drydock.packages.failed import MOST_OUTPUT, InstallFailed
from drydock.packages.wanted import Wanted

PORT = 8000
"""Of the relay's door, on the build box's own loopback."""
RELAY = f"http://127.0.0.1:{PORT}"
ENOUGH = 4 * MOST_OUTPUT
"""Bytes of an installer's words that are looked at when it has failed: its last ones say why."""
LONGEST_LINE = 200
MOST_LINES = 2000
"""Told of one program: what it says after that is kept for its failure, if that comes, and told to nobody meanwhile."""
_FILES = re.compile(re.escape(RELAY) + r"/files/[0-9a-f]{32}/")
OnLine = Callable[[str], None]
ENV = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": HOME, "TMPDIR": TMP, "LANG": "C.UTF-8", "NO_COLOR": "1"}
WHY: Mapping[str, str] = {
    "timeout": "it took too long",
    "memory_limit": "it needs more memory than DRYDOCK_BUILD_MEMORY gives",
    "disk_limit": "it needs more disk than DRYDOCK_LAYER_BYTES gives",
    "process_limit": "it needs more processes than a build box may have",
}


@dataclass(frozen=True, slots=True)
class Lock:
    text: str
    packages: list[str] = field(default_factory=list)
    """Pinned and sorted; each is a requirement again."""


class Shown:
    """An installer's words as whoever asked may read them: the index by its own address instead of the relay's."""

    def __init__(self, grant: PackagesGrant, files: Sequence[FileGrant], on_line: OnLine) -> None:
        self._files = {RELAY + file.path: str(file.url) for file in files}
        self._index = str(grant.index)
        self._on_line = on_line

    def text(self, words: bytes) -> str:
        text = words.decode("utf-8", "replace").replace("\0", "\ufffd")
        for ours, theirs in self._files.items():
            text = text.replace(ours, theirs)
        for page in ("/pypi/simple/", "/npm/"):
            text = text.replace(RELAY + page, self._index)
        return _FILES.sub("", text).replace(RELAY, self._index.rstrip("/"))

    def line(self, line: str) -> None:
        self._on_line(line)


class Installer(Protocol):
    ecosystem: Ecosystem
    place: str
    """Where a box mounts what it installs; one of wall.LAYER_PLACES."""
    tree: str
    """Where that lies in the build box, below /box."""
    skip: Sequence[str]
    """Names in it that no layer needs."""
    runtime: str
    """What the packages are for: another one needs another layer."""
    version: str
    """Of the language, for people."""

    def tools(self) -> Sequence[Layer]: ...

    async def install(self, bench: Bench, wanted: Wanted, shown: Shown) -> Lock:
        """InstallFailed with the installer's own words."""
        ...


def asked(wanted: Wanted) -> list[str]:
    """As the installer is told them: what lies elsewhere, it gets through the relay too."""
    return [specifiers.by_relay(entry, RELAY) for entry in wanted.requirements]


class Lines:
    """Whole lines of what comes in pieces, each cut to what is shown of it, as many as anybody can read."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._rest = ""
        self._left = MOST_LINES

    def hear(self, text: str) -> None:
        if not self._left:
            return
        *lines, rest = text.split("\n", self._left)
        if lines:
            lines[0], self._rest = self._rest + lines[0], ""
        for line in filter(None, (line.strip()[:LONGEST_LINE] for line in lines)):
            self._tell(line)
        self._left -= len(lines)
        # Of a line without end only its beginning is kept: to join each piece to all before it takes quadratic time.
        self._rest = (self._rest + rest)[:LONGEST_LINE]


async def run(bench: Bench, shown: Shown, step: str, program: Program, *, keep: bool = False) -> Outcome:
    """One program of the installer's, to its end; InstallFailed if that is not a good one."""
    lines = Lines(shown.line)
    outcome = await bench.run(program, lambda data: lines.hear(shown.text(data)), keep=keep)
    ended = outcome.ended
    if ended.reason != "completed":
        why = WHY.get(ended.reason) or ended.detail or f"the installer ended with {ended.signal or ended.exit_code}"
        raise InstallFailed(f"{step}: {why}", shown.text(outcome.stderr[-ENOUGH:]))
    return outcome
