"""The trusted git directory of one run. It stays on this machine's disk between plays; where a run comes without it,
after a take-over, it is put up again from what the run recorded."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from drydock.forge.git.credential import Credential
from drydock.forge.git.repository import RECORD, Repository, Terms
from drydock.forge.git.source import Remote, Source

GetsCredential = Callable[[], Awaitable[Credential | None]]


class Checkout:
    def __init__(
        self,
        terms: Callable[[], Terms],
        home: Path,
        source: Callable[[], Source | None],
        credential: GetsCredential,
    ) -> None:
        """Terms and source are asked for when git is first needed: what is wrong with them is the run's failure.
        Without a source it is a repository of the run's own."""
        self._terms, self._home, self._source = terms, home, source
        self.credential = credential
        self._depth = 1
        self._base = ""
        self._open: Repository | None = None
        self._installed: Sequence[str] = ()

    @property
    def base(self) -> str:
        """Empty until the run has a clone."""
        return self._base

    @property
    def pushable(self) -> bool:
        """A folder of this machine is never written to."""
        return isinstance(self._source(), Remote)

    async def clone(self, ref: str, depth: int) -> Repository:
        """For the first time."""
        await self.close()
        self._open = await self._make(ref, depth)
        self._base, self._depth = self._open.base, depth
        return self._open

    def recall(self, base: str, depth: int) -> None:
        """What was cloned in an earlier play."""
        self._base, self._depth = base, depth

    def leave_out(self, installed: Sequence[str]) -> None:
        """Paths that are no part of the work though they lie in its folder."""
        self._installed = installed

    async def repository(self) -> Repository:
        if self._open is not None and self._open.broken:
            await self.close()
        if self._open is None:
            self._open = await self._again()
        self._open.leave_out(self._installed)
        return self._open

    async def _again(self) -> Repository:
        if (self._home / RECORD).is_file():
            found = await Repository.open(self._terms(), self._home, self._source())
            if found.base == self._base:
                return found
            await found.discard()
        return await self._make(self._base, self._depth)

    async def _make(self, ref: str, depth: int) -> Repository:
        source = self._source()
        await asyncio.to_thread(shutil.rmtree, self._home, True)  # a disk that was half made when the server died
        if source is None:
            return await Repository.begin(self._terms(), self._home)
        credential = await self.credential()
        return await Repository.clone(self._terms(), self._home, source, ref=ref, depth=depth, credential=credential)

    async def close(self) -> None:
        """Git's processes end; what it has on the disk stays."""
        made, self._open = self._open, None
        if made is not None:
            await made.close()
