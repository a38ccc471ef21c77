"""Asking a remote, fetching from it and pushing to it: git in its box, the courier at its door."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from drydock.egress.dial import Dialer
from drydock.errors import PushRefused, RepositoryFailed
from drydock.forge.git.box import URL, GitBox
from drydock.forge.git.courier import Courier
from drydock.forge.git.credential import Credential
from drydock.forge.git.exchange import Pace
from drydock.forge.git.grant import Fetch, Grant, Push
from drydock.forge.git.local import COPY, copy
from drydock.forge.git.refs import is_protected
from drydock.forge.git.source import Local, Remote, Source

T = TypeVar("T")
NONE = "0" * 40
HEADS = "refs/heads/"


@dataclass(frozen=True, slots=True)
class Refs:
    default: str
    """Name of the branch that HEAD stands for; empty when the remote does not say."""
    found: dict[str, str]
    """Full name -> hash, of those that were asked for."""


class RemoteEnd:
    """The other end of one repository."""

    def __init__(self, box: GitBox, source: Source, dialer: Callable[[], Dialer], most_bytes: int) -> None:
        self._box, self._source = box, source
        self._dialer, self._most_bytes = dialer, most_bytes
        self._turn = asyncio.Lock()
        local = isinstance(source, Local)
        self._url, self._env = (COPY, {"GIT_ALLOW_PROTOCOL": "file"}) if local else (URL, {})
        self._name = source.url.host if isinstance(source, Remote) else f"the folder {source}"

    async def ask(self, names: Sequence[str], credential: Credential | None) -> Refs:
        """What HEAD stands for, and these references if they are there."""

        async def list_them() -> bytes:
            argv = ["ls-remote", "--symref", self._url, "HEAD", *names]
            return (await self._box.git(*argv, env=self._env, doing=f"{self._name} could not be asked")).out

        told = await self._with(Fetch(), credential, list_them)
        return _read(told.decode("utf-8", "replace"), names)

    async def fetch(self, wanted: str, into: str, *, depth: int, credential: Credential | None) -> None:
        """`wanted` is a full reference or a hash; a depth of 0 is the whole history."""
        history = [f"--depth={depth}"] if depth else []
        argv = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-gc", *history, self._url]
        await self._fetch([*argv, f"+{wanted}:{into}"], credential)

    async def whole(self, wanted: str, into: str, credential: Credential | None) -> None:
        argv = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-gc", "--unshallow", self._url]
        await self._fetch([*argv, f"+{wanted}:{into}"], credential)

    async def push(
        self, new: str, branch: str, *, ours: str | None, protected: Sequence[str], credential: Credential | None
    ) -> None:
        """Once and not again: what is there already is not pushed. `ours` is what our last push left there."""
        if isinstance(self._source, Local):
            raise PushRefused("a folder of this machine is not written to", hint="Take the patch and apply it there.")
        ref = HEADS + branch
        refs = await self.ask([ref], credential)
        if not refs.default:
            raise PushRefused(
                "the remote does not say which branch is its default one, so none is safe to write",
                hint="Set the remote's HEAD to a branch; the commit is kept.",
            )
        if is_protected(branch, refs.default, protected):
            raise PushRefused(f"{branch!r} is the default branch or a protected one, and no run writes those")
        there = refs.found.get(ref)
        if there == new:
            return
        if there is not None and there != ours:
            raise PushRefused(f"{branch!r} is on the remote already, with commits that are not of this run")
        try:
            await self._push(Push(branch, there or NONE, new), credential)
        except RepositoryFailed as failed:
            await self._look_again(failed, new, branch, there, credential)

    async def _push(self, grant: Push, credential: Credential | None) -> None:
        argv = ["push", "--quiet", "--porcelain", "--no-verify", "--no-follow-tags", "--no-signed", "--no-force"]
        argv += ["--recurse-submodules=no", self._url, f"{grant.new}:{HEADS}{grant.branch}"]

        async def send() -> None:
            await self._box.git(*argv, doing=f"{self._name} did not take the branch")

        await self._with(grant, credential, send)

    async def _look_again(
        self, failed: RepositoryFailed, new: str, branch: str, before: str | None, credential: Credential | None
    ) -> None:
        """An answer that was lost is no failure, and a branch that somebody else made meanwhile is another one."""
        try:
            now = (await self.ask([HEADS + branch], credential)).found.get(HEADS + branch)
        except RepositoryFailed:
            raise failed from None
        if now == new:
            return
        if now != before:
            raise PushRefused(
                f"somebody else wrote {branch!r} while it was being pushed; theirs is untouched"
            ) from None
        raise failed

    async def _fetch(self, argv: Sequence[str], credential: Credential | None) -> None:
        async def get() -> None:
            await self._box.git(*argv, env=self._env, doing=f"{self._name} could not be fetched from")

        await self._with(Fetch(), credential, get)

    async def _with(self, grant: Grant, credential: Credential | None, work: Callable[[], Awaitable[T]]) -> T:
        async with self._turn:
            if isinstance(self._source, Local):
                await copy(self._source, self._box, self._most_bytes)
                return await work()
            dialer = self._dialer()
            self._box.courier = Courier(self._source, grant, dialer, Pace(self._most_bytes), credential)
            try:
                return await work()
            finally:
                self._box.courier = None
                dialer.close()


def _read(told: str, names: Sequence[str]) -> Refs:
    default, found = "", {}
    for line in told.splitlines():
        value, _, name = line.partition("\t")
        if name == "HEAD" and value.startswith("ref: " + HEADS):
            default = value.removeprefix("ref: " + HEADS)
        elif name in (*names, "HEAD"):
            found[name] = value
    return Refs(default, found)
