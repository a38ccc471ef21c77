"""Git's own box: no tenant ever enters it, no command of git's ever runs outside it.

Git reads what strangers wrote: packs of a remote, trees of a tenant. It does so under the same walls as a tenant's
code: a uid, a disk and a memory of its own, no network but one door, no secret. So whatever it can be talked into
stays there, and what comes out, hashes and patches, is bounded and believed no further than the tenant itself is.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from drydock.box.held import HeldBox
from drydock.box.held_program import HeldProgram
from drydock.box.limits import MIB, Limits
from drydock.box.program import HOME, TMP, WORK, Program
from drydock.box.yard import Yard
from drydock.errors import RepositoryFailed
from drydock.forge.git.asked import ROOT
from drydock.forge.git.courier import Courier

PORT = 8000
URL = f"http://127.0.0.1:{PORT}{ROOT}"
"""What the remote is called in the box, whatever it is called outside."""
GIT = "/usr/bin/git"
DIRECTORY = f"{WORK}/repository.git"
ENV = {
    "PATH": "/usr/bin:/bin",
    "HOME": HOME,
    "TMPDIR": TMP,
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    "GIT_DIR": DIRECTORY,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_ALLOW_PROTOCOL": "http",
}
CONFIG = """\
[core]
	repositoryformatversion = 0
	bare = true
	hooksPath = /dev/null
	fsmonitor = false
	symlinks = true
	protectHFS = true
	protectNTFS = true
	excludesFile = /dev/null
	bigFileThreshold = 16m
[protocol]
	allow = never
[protocol "http"]
	allow = always
[http]
	followRedirects = false
	postBuffer = 16777216
[gc]
	auto = 0
[maintenance]
	auto = false
[pack]
	threads = 1
	windowMemory = 128m
[fetch]
	recurseSubmodules = false
[submodule]
	recurse = false
"""
ATTRIBUTES = "* -text -eol -ident -filter -working-tree-encoding !diff !merge\n"
"""Stronger than any .gitattributes: bytes are bytes, no driver is asked for, and no file hides its changes."""
_SHOWN = re.compile(r"[^\x20-\x7e]+")
_WHY = {
    "timeout": "it took too long",
    "memory_limit": "it needs more memory than git may have",
    "disk_limit": "it is larger than a repository may be",
    "cancelled": "it was cancelled",
    "box_failed": "its box broke",
}


@dataclass(frozen=True, slots=True)
class Done:
    code: int
    out: bytes
    err: bytes

    def text(self) -> str:
        return self.out.decode("utf-8", "surrogateescape").strip()


def limits(seconds: float, disk_bytes: int) -> Limits:
    return Limits(
        wall_ms=int(seconds * 1000),
        memory_bytes=1024 * MIB,
        processes=64,
        file_bytes=disk_bytes,
        open_files=1024,
        cpus=2.0,
        output_bytes=64 * MIB,
    )


class GitBox:
    def __init__(self) -> None:
        self.courier: Courier | None = None
        """Who stands at the door, for as long as one command needs somebody there."""
        self._box: HeldBox | None = None

    @classmethod
    async def open(
        cls, yard: Yard, home: Path, *, seconds: float, disk_bytes: int, restore: Path | None = None
    ) -> GitBox:
        """Over a disk in `home`, as the snapshot has it or with an empty repository."""
        made = cls()
        made._box = await HeldBox.open(
            yard,
            home,
            limits(seconds, disk_bytes),
            disk_bytes=disk_bytes,
            doors={PORT: made._serve},
            restore=restore,
        )
        try:
            await made._prepare()
        except BaseException:
            await made.close()
            raise
        return made

    @property
    def held(self) -> HeldBox:
        assert self._box is not None, "git's box is open until it is closed"
        return self._box

    async def git(
        self, *arguments: str, stdin: bytes = b"", env: Mapping[str, str] | None = None, doing: str = "", code: int = 0
    ) -> Done:
        """One command, to its end. RepositoryFailed unless it ends with 0, or with at most `code`."""
        return await self.run([GIT, *arguments], stdin=stdin, env=env, doing=doing, code=code)

    async def run(
        self,
        argv: list[str],
        *,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        files: Mapping[str, bytes] | None = None,
        doing: str = "",
        code: int = 0,
    ) -> Done:
        program = await self.held.start(Program(argv=argv, stdin=stdin, env={**ENV, **(env or {})}, files=files or {}))
        if not stdin:
            program.close_stdin()
        return await self.end_of(program, doing, code)

    async def end_of(self, program: HeldProgram, doing: str, code: int = 0) -> Done:
        """Wait for it, and say what its end means; it does not outlive whoever waits."""
        try:
            ended = await asyncio.shield(program.ended)
        except asyncio.CancelledError:
            program.stop("cancelled")
            await program.ended
            raise
        if ended.exit_code is not None and ended.exit_code <= code and not ended.stdout_cut:
            return Done(ended.exit_code, program.stdout(), program.stderr())
        if self.courier is not None and self.courier.failure is not None:
            raise self.courier.failure
        cut = "it has more to say than is kept" if ended.stdout_cut else ""
        why = (
            _WHY.get(ended.reason)
            or cut
            or words(program.stderr() + program.stdout()[-4096:])
            or f"git ended with {ended.exit_code}"
        )
        remedy = "Have an operator raise DRYDOCK_CLONE_BYTES." if ended.reason == "disk_limit" else None
        raise RepositoryFailed(
            f"{doing or 'the repository'}: {why}", hint=remedy, retryable=ended.reason in ("box_failed", "timeout")
        )

    async def close(self) -> None:
        """Every process of it ends; its disk stays. Safe to call again."""
        if self._box is not None:
            await self._box.close()

    async def _prepare(self) -> None:
        script = (
            'set -e; rm -rf "$TMPDIR"/*; [ -e "$GIT_DIR/HEAD" ] || git init -q --bare --template= -b none "$GIT_DIR"; '
            'mkdir -p "$GIT_DIR/info"; printf %s "$CONFIG" >"$GIT_DIR/config"; printf %s "$ATTRIBUTES" '
            '>"$GIT_DIR/info/attributes"; rm -f "$GIT_DIR"/*.lock'
        )
        env = {"CONFIG": CONFIG, "ATTRIBUTES": ATTRIBUTES}
        await self.run(["/bin/sh", "-c", script], env=env, doing="an empty repository could not be made")

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.courier is not None:
            await self.courier.serve(reader, writer)


def words(said: bytes) -> str:
    """Git's own words that say why, printable and short. No secret is in them: git never knew one."""
    lines = [line.strip() for line in said.decode("utf-8", "replace").splitlines() if line.strip()]
    for mark in ("!", "fatal:", "error:", ""):
        if told := [line for line in lines if line.startswith(mark) and not line.startswith("remote:")]:
            break
    theirs = " ".join(line.removeprefix("remote:").strip() for line in lines if line.startswith("remote:"))
    ours = told[-1].removeprefix("fatal: ").replace(URL, "the remote") if told else ""
    return _SHOWN.sub(" ", f"{ours[:200]} (the remote says: {theirs[:200]})" if theirs else ours[:300])
