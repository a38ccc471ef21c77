"""The tiers of one server: the one in force from the start, a stronger one from the first program that asks for it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from drydock.box import gvisor, proof
from drydock.box.pool import Pool
from drydock.box.process import Processes
from drydock.box.tier import STRENGTH, Isolation, Tier
from drydock.box.yard import Yard
from drydock.errors import Invalid, Unavailable

NO_WALLS = (
    "There are no walls: a program sees the files, processes and network of this host.",
    "A program's files are not limited in all, only one by one.",
)


class Tiers:
    """Never hands out a tier whose proof has failed, and never another one than was asked for."""

    def __init__(self, yard: Yard, places: int, isolation: Isolation) -> None:
        self._yard, self._places = yard, places
        self.isolation = isolation
        self._open: dict[Isolation, Tier] = {}
        self._opening = asyncio.Lock()

    async def start(self) -> None:
        """The tier in force; BoxFailed or Unavailable with the reason when it cannot be had or does not hold."""
        await self.get(self.isolation)

    @property
    def broken(self) -> bool:
        tier = self._open.get(self.isolation)
        return tier is None or tier.working == 0

    async def get(self, name: Isolation) -> Tier:
        if name not in self._open:
            async with self._opening:
                if name not in self._open:
                    self._open[name] = await self._prove(name)
        return self._open[name]

    async def _prove(self, name: Isolation) -> Tier:
        tier = make(self._yard, name, self._places)
        try:
            await tier.start()
            await proof.quick(tier, name)
        except BaseException:
            await tier.close()
            raise
        return tier

    async def close(self) -> None:
        for tier in self._open.values():
            await tier.close()


def make(yard: Yard, name: Isolation, places: int) -> Tier:
    """Unavailable says what this host lacks for it."""
    if name == "gvisor":
        return Pool(yard.with_gvisor(gvisor.find()), places)
    return Processes(yard, places) if name == "process" else Pool(yard, places)


def lost(yard: Yard, name: Isolation) -> Sequence[str]:
    """Promises that this tier cannot keep on this host, one sentence each."""
    return NO_WALLS if name == "process" else yard.host.lost


def check(wanted: str, in_force: Isolation) -> Isolation:
    """What a request asks for, if it may have it: Invalid says why not, and what to do."""
    name = next((name for name in STRENGTH if name == wanted), None)
    allowed = STRENGTH[STRENGTH.index(in_force) :]
    if name is None:
        raise Invalid(
            f"isolation {wanted[:64]!r} is not known", where="isolation", hint=f"Ask for {' or '.join(allowed)}."
        )
    if name not in allowed:
        raise Invalid(
            f"isolation {name!r} is weaker than {in_force!r}, which this server gives",
            where="isolation",
            hint=f"Leave it out, or ask for {' or '.join(allowed)}.",
        )
    if name == "gvisor":
        try:
            gvisor.find()
        except Unavailable as missing:
            raise Invalid(missing.message, where="isolation", hint=missing.remedy) from None
    return name
