"""How runs are joined to the rooms below: their boxes, their engine, their quotas. app.py stays short for it."""

from __future__ import annotations

import asyncio
import os
import uuid
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from sqlalchemy import URL

from drydock.access.caller import Caller
from drydock.box.doors import Handler
from drydock.box.held import HeldBox
from drydock.box.limits import Limits
from drydock.box.yard import Yard
from drydock.egress.grants import PackagesGrant
from drydock.errors import Unavailable
from drydock.forge.git.repository import Terms
from drydock.observe.log import Log
from drydock.packages.failed import InstallFailed
from drydock.packages.index import Indexes
from drydock.packages.tools import uv_layer
from drydock.packages.wanted import ECOSYSTEMS
from drydock.run.berth import Guard
from drydock.run.engine import DbosEngine
from drydock.run.parts import Makes
from drydock.run.records import Records
from drydock.run.room import RunRoom, folder_of, tidy
from drydock.run.turns import Turns
from drydock.run.workspace import Workspace
from drydock.settings import Settings
from drydock.store.database import Database
from drydock.store.folder import write_once
from drydock.store.objects import ObjectStore
from drydock.store.run import Run
from drydock.store.runs import Quota
from drydock.store.sealing import Sealer, open_sealer

PROCESSES = 512
OPEN_FILES = 4096


def open_room(
    settings: Settings,
    database: Database,
    objects: ObjectStore,
    yard: Callable[[], Yard | None],
    makes: Makes,
    log: Log,
) -> RunRoom:
    """On the event loop that the boxes live on."""
    name = name_of(settings.data)
    workspaces = Workspaces(settings, objects, yard)
    carries = settings.role != "api"
    engine = DbosEngine(_engine_address(settings, database), name, at_once(settings), carries=carries)

    def sealer() -> Sealer:
        return open_sealer(settings.data, settings.secrets_key)

    return RunRoom(
        name,
        database,
        objects,
        engine,
        makes,
        workspaces,
        log,
        sealer=sealer,
        carries=carries,
        tidy=partial(tidy, settings.data),
    )


def open_turns(settings: Settings, records: Records, yard: Callable[[], Yard | None]) -> Turns:
    boxes = Workspaces(settings, records.objects, yard)
    return Turns(records, boxes.open_box, lambda: Terms.of(settings, boxes.yard()), settings.data / "runs")


def at_once(settings: Settings) -> int:
    return settings.max_runs or 2 * (os.cpu_count() or 1)


def quota_of(settings: Settings, caller: Caller) -> Quota:
    """What is set for everybody holds for users too, if it is less than theirs."""
    common = quota(settings)
    if caller.kind != "user":
        return common
    return Quota(
        _less(settings.user_concurrent, common.concurrent),
        _less(settings.user_per_minute, common.per_minute),
        _less(settings.user_per_day, common.per_day),
    )


def _less(own: int, common: int | None) -> int:
    return own if common is None else min(own, common)


def quota(settings: Settings) -> Quota:
    return Quota(settings.quota_concurrent or None, settings.quota_per_minute or None, settings.quota_per_day or None)


def name_of(data: Path) -> str:
    """Of the worker, kept in its data folder: a server started again on the same folder recovers its own runs."""
    file = data / "worker.id"
    write_once(file, uuid.uuid4().hex.encode())
    return file.read_text("ascii")


def _engine_address(settings: Settings, database: Database) -> URL:
    """A file of its own beside SQLite: the engine's polling and our transactions do not wait for each other."""
    if database.is_sqlite:
        return URL.create("sqlite", database=str(settings.data.resolve() / "engine.db"))
    return database.engine.url


class Workspaces:
    """Puts up a run's workspace, and counts those that stand frozen."""

    def __init__(self, settings: Settings, objects: ObjectStore, yard: Callable[[], Yard | None]) -> None:
        self._settings, self._objects, self._yard = settings, objects, yard
        self._open: list[Workspace] = []
        self._indexes = Indexes(settings)
        self._limits = Limits(
            memory_bytes=settings.run_memory,
            inodes=1 << 20,
            processes=max(settings.processes, PROCESSES),
            file_bytes=settings.run_disk,
            open_files=max(settings.open_files, OPEN_FILES),
            cpus=settings.cpus,
            output_bytes=settings.output_bytes,
        )

    def __call__(self, run: Run, guard: Guard) -> Workspace:
        self._open = [each for each in self._open if not each.closed]
        made = Workspace(
            run.id,
            run.epoch,
            folder_of(self._settings.data, run),
            self._objects,
            self.open_box,
            most_bytes=self._settings.run_snapshot,
            may_freeze=lambda: sum(each.frozen for each in self._open) < self._settings.frozen_boxes,
            guard=guard,
            grants=self._grants,
        )
        self._open.append(made)
        return made

    async def _grants(self) -> Sequence[PackagesGrant]:
        """Of the server's own indexes: what an installer in the box may ask for is what a request's packages may."""
        if self._settings.offline:
            raise Unavailable("this server installs nothing (DRYDOCK_OFFLINE), so no command gets to an index")
        found = []
        for ecosystem in ECOSYSTEMS.values():
            try:
                found.append(await self._indexes.grant(ecosystem, None))
            except InstallFailed:
                continue  # this host knows no index for it: nothing of it is granted
        return found

    def yard(self) -> Yard:
        yard = self._yard()
        if yard is None:
            raise Unavailable("runs need a box, and this server's isolation has none to hold")
        return yard

    async def open_box(self, home: Path, restore: Path | None, doors: Mapping[int, Handler]) -> HeldBox:
        yard, disk = self.yard(), self._settings.run_disk
        layers = [await asyncio.to_thread(uv_layer, yard.store)]
        return await HeldBox.open(
            yard, home, self._limits, disk_bytes=disk, doors=doors, layers=layers, restore=restore
        )
