"""Every tier on this host: whether it is there, what it promises, and what came of each attempt."""

from __future__ import annotations

import subprocess
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

from drydock.box import gvisor
from drydock.box.proof.examine import Finding, examine
from drydock.box.proof.mounts import links_at_mounts
from drydock.box.tier import Isolation, Tier
from drydock.box.tiers import lost, make
from drydock.box.yard import Yard
from drydock.errors import DrydockError


@dataclass(frozen=True, slots=True)
class Surveyed:
    """One tier, as far as it can be had here."""

    name: Isolation
    root: bool
    about: str = ""
    """Which programs it is made of."""
    missing: str = ""
    """Why it cannot be had; nothing was tried then."""
    remedy: str = ""
    lost: Sequence[str] = ()
    """Promises that this host cannot keep."""
    cannot: Sequence[str] = ()
    findings: Sequence[Finding] = field(default_factory=list)

    @property
    def sound(self) -> bool:
        return not any(finding.state == "fails" for finding in self.findings)


async def survey(yard: Yard, name: Isolation) -> Surveyed:
    """Each promise of the tier, by its attempt."""
    root, cannot_here = yard.host.root, lost(yard, name)
    try:
        tier = make(yard, name, 1)
    except DrydockError as wrong:
        return Surveyed(name, root, missing=wrong.message, remedy=wrong.remedy)
    try:
        await tier.start()
        findings = [finding async for finding in _findings(yard, tier, name)]
    except DrydockError as wrong:
        return Surveyed(name, root, _about(yard, name), wrong.message, wrong.remedy, cannot_here)
    finally:
        await tier.close()
    cannot = gvisor.CANNOT if name == "gvisor" else ()
    return Surveyed(name, root, _about(yard, name), lost=cannot_here, cannot=cannot, findings=findings)


async def _findings(yard: Yard, tier: Tier, name: Isolation) -> AsyncIterator[Finding]:
    async for finding in examine(tier, name, grouped=yard.host.hierarchy is not None):
        yield finding
    if name == "box":
        yield await links_at_mounts(yard)


def _about(yard: Yard, name: Isolation) -> str:
    groups = "no control groups" if yard.host.hierarchy is None else f"control groups {yard.host.hierarchy.version}"
    if name == "process":
        return groups
    asked = subprocess.run([yard.host.bwrap, "--version"], capture_output=True, text=True, check=False, env={})
    parts = [asked.stdout.strip(), groups]
    if name == "gvisor":
        parts.insert(0, f"runsc {gvisor.release(gvisor.find())}")
    return ", ".join(parts)
