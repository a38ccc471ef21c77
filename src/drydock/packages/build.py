"""One installation: a box that reaches an index through a relay and nothing else, and the tree that is carried out."""

from __future__ import annotations

import asyncio
import secrets
import shutil
from dataclasses import dataclass
from pathlib import Path

from drydock.box.carry import Carried, Foreign, Load, carry
from drydock.box.limits import Limits
from drydock.box.tier import Isolation
from drydock.box.yard import Yard
from drydock.egress.denial import Denial
from drydock.egress.grants import Bounds, PackagesGrant
from drydock.egress.relay import Relay
from drydock.packages import specifiers
from drydock.packages.bench import Bench, GvisorBench, HeldBench, Site
from drydock.packages.failed import InstallFailed
from drydock.packages.installer import PORT, Installer, Lock, OnLine, Shown
from drydock.packages.wanted import Wanted
from drydock.settings import Settings

PROCESSES = 512
OPEN_FILES = 4096
DISK = 4
"""Times the largest layer: what was downloaded, unpacked, built and installed lies side by side."""


@dataclass(frozen=True, slots=True)
class Built:
    lock: Lock
    load: Carried
    denials: list[Denial]


class Builder:
    def __init__(self, settings: Settings, yard: Yard, scratch: Path) -> None:
        self._yard, self._scratch = yard, scratch
        self._layer_bytes = settings.layer_bytes
        self._seconds = float(settings.code_max_timeout)
        self._limits = Limits(
            wall_ms=settings.code_max_timeout * 1000,
            memory_bytes=settings.build_memory,
            processes=max(settings.processes, PROCESSES),
            file_bytes=settings.layer_bytes,
            open_files=max(settings.open_files, OPEN_FILES),
            cpus=settings.cpus,
            output_bytes=settings.output_bytes,
        )

    async def build(
        self,
        installer: Installer,
        wanted: Wanted,
        grant: PackagesGrant,
        folder: Path,
        on_line: OnLine,
        isolation: Isolation,
    ) -> Built:
        """Install it and carry it to `folder`, which is ours to make. InstallFailed leaves at most part of it there."""
        files = [file for entry in wanted.requirements if (file := specifiers.file(entry))]
        relay = Relay([grant, *files], Bounds(seconds=self._seconds))
        home = self._scratch / f"build-{secrets.token_hex(8)}"
        load = Load(self._layer_bytes, skip=installer.skip)
        bench: Bench | None = None
        try:
            site = Site(
                self._yard,
                home,
                self._limits,
                DISK * self._layer_bytes,
                {PORT: relay.handler},
                await asyncio.to_thread(installer.tools),
                take=lambda root: _carry(root, installer.tree, folder, load),
                on_take=lambda: on_line("keeping what was installed"),
            )
            bench = await (GvisorBench.open(site) if isolation == "gvisor" else HeldBench.open(site))
            lock = await installer.install(bench, wanted, Shown(grant, files, on_line))
            return Built(lock, bench.taken, list(relay.denials))
        except InstallFailed as failed:
            failed.denials = list(relay.denials)
            raise
        finally:
            await _to_its_end(bench, relay, home)


def _carry(root: int, tree: str, folder: Path, load: Load) -> Carried:
    try:
        return carry(root, tree, folder, load)
    except Foreign as foreign:
        raise InstallFailed(f"what {_package(foreign.path)} left is not taken: {foreign}") from None
    except FileNotFoundError:
        folder.mkdir(mode=0o755)  # nothing to install, as markers may have it
        return Carried()
    except OSError as wrong:
        raise InstallFailed(f"the layer could not be written: {wrong.strerror}") from wrong


def _package(path: str) -> str:
    """Files are installed under the name of their package, or of its scope."""
    parts = path.split("/")
    return "/".join(parts[:2]) if path.startswith("@") else parts[0] or "a package"


async def _to_its_end(bench: Bench | None, relay: Relay, home: Path) -> None:
    """Also while it is being cancelled: no process and no disk is left when this returns."""

    async def end() -> None:
        if bench is not None:
            await bench.close()
        await relay.close()
        # A disk is one file; the plain folder that there is without root has our own uid, and nobody is left in it.
        await asyncio.to_thread(shutil.rmtree, home, True)

    ending = asyncio.ensure_future(end())
    try:
        await asyncio.shield(ending)
    except asyncio.CancelledError:
        await ending
        raise
