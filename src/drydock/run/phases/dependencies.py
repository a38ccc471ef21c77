"""What the repository's lock files name, installed while it is prepared: in the run's box, from the package indexes.

The agent finds it there, and so do the checks, on the base and on the change. Python's goes into an environment in the
box's home, which comes first in every program's PATH; Node's into the repository's own node_modules.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from drydock.agent import hand
from drydock.agent.site import Site
from drydock.agent.texts import cut
from drydock.errors import Unavailable
from drydock.packages.tools import UV
from drydock.run.site import ENVIRONMENT

INSTALL_S = 600.0
MOST_TAIL = 4_000
NODE_MODULES = "node_modules"
_CACHES = 'export UV_CACHE_DIR="$TMPDIR/uv" UV_LINK_MODE=copy UV_PYTHON_DOWNLOADS=never UV_NO_PROGRESS=1; '
_VENV = f"{_CACHES}{UV} venv -q --system-site-packages --allow-existing --python /usr/bin/python3 {ENVIRONMENT} && "
_INTO = f"{UV} pip install -q --python {ENVIRONMENT}/bin/python"
_NPM = 'npm ci --no-audit --no-fund --no-progress --cache="$TMPDIR/npm"'
LOCKS: Mapping[str, str] = {
    # uv's own lock names files by their addresses; as requirements they are looked up at the index that is granted.
    "uv.lock": f'{_VENV}{UV} export -q --frozen --no-emit-project -o "$TMPDIR/uv.txt" && {_INTO} -r "$TMPDIR/uv.txt"',
    "requirements.lock": f"{_VENV}{_INTO} -r requirements.lock",
    "requirements.txt": f"{_VENV}{_INTO} -r requirements.txt",
    "requirements-dev.txt": f"{_VENV}{_INTO} -r requirements-dev.txt",
    "package-lock.json": _NPM,
    "npm-shrinkwrap.json": _NPM,
}
"""Each at the root of the repository, and what installs it."""


@dataclass(frozen=True, slots=True)
class Installed:
    lock: str
    ok: bool
    told: str = ""
    """The installer's last words, when it failed."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


async def locks_of(site: Site) -> list[str]:
    """Of two that say the same, the first."""
    told = await hand.ask(site, "survey", depth=1, most=5_000, names=5_000)
    found = [name for name in LOCKS if name in told.texts("top")]
    return [name for at, name in enumerate(found) if LOCKS[name] not in [LOCKS[each] for each in found[:at]]]


async def install(site: Site, locks: Sequence[str]) -> list[Installed]:
    """One after the other. A failure is told and stops nothing: the agent sees what is missing."""
    return [await _install(site, lock) for lock in locks]


async def _install(site: Site, lock: str) -> Installed:
    try:
        done = await site.run(["/bin/sh", "-c", LOCKS[lock]], timeout_s=INSTALL_S, network=True)
    except Unavailable as wrong:
        return Installed(lock, False, wrong.message)
    if done.ok:
        return Installed(lock, True)
    words = (done.stderr or done.stdout).decode("utf-8", "replace").strip()
    return Installed(lock, False, cut(words, MOST_TAIL) or done.reason)
