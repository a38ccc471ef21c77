"""Composition: every room built from Settings and joined. Read it from top to bottom; only this file knows everyone."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from typing import Protocol

import uvloop
from starlette.types import ASGIApp

from drydock import __version__
from drydock.access.caller import Caller
from drydock.access.gate import LOCAL, Knock, admit, has_credential, must_have_credential
from drydock.access.ring import KeyRing
from drydock.api.border import Border
from drydock.api.call import Door, Shape
from drydock.api.environments import EnvironmentDoors
from drydock.api.executions.archive import Archive
from drydock.api.executions.desk import Desk
from drydock.api.executions.doors import ExecutionDoors
from drydock.api.executions.orders import Orders
from drydock.api.folder_lock import FolderLock
from drydock.api.guard import Guard
from drydock.api.installing import Installing
from drydock.api.listening import address_of, listen
from drydock.api.mounts import Mounts
from drydock.api.openapi import NATIVE, SERVICE, document
from drydock.api.pages import Pages
from drydock.api.router import Router
from drydock.api.running import Running
from drydock.api.runs.artefacts import ArtefactDoors
from drydock.api.runs.control import ControlDoors
from drydock.api.runs.diff import DiffDoor
from drydock.api.runs.doors import RunDoors
from drydock.api.runs.openapi import RUNS
from drydock.api.runs.orders import RunOrders
from drydock.api.schemas import Json
from drydock.api.shapes import native
from drydock.api.store_probe import StoreProbe
from drydock.box.yard import Yard
from drydock.code.boxed import BoxedExecutor
from drydock.code.executor import Executor
from drydock.dialects.bare import Bare
from drydock.dialects.code.doors import CodeDoors
from drydock.dialects.code.health import Health
from drydock.dialects.code.shape import shape as code_shape
from drydock.dialects.forms import FORMS
from drydock.dialects.openapi import bare_paths, code_paths, polychat_paths
from drydock.dialects.polychat.doors import PREFIX as POLYCHAT
from drydock.dialects.polychat.doors import Polychat
from drydock.dialects.polychat.shape import worker as polychat_shape
from drydock.model.keys import Sealed
from drydock.model.models import Models
from drydock.notices import notices
from drydock.observe.log import Forward, Log
from drydock.observe.metrics import Metrics
from drydock.run.parts import Makes
from drydock.run.phases.earlier import Legacies
from drydock.run.phases.makes import RealParts
from drydock.run.room import RunRoom
from drydock.run_joints import name_of, open_room, open_turns, quota, quota_of
from drydock.settings import Settings, is_secret
from drydock.store.database import Database, connect
from drydock.store.executions import Executions
from drydock.store.lent import Lent
from drydock.store.migrations import migrate
from drydock.store.objects import open_objects
from drydock.store.retention import Retention
from drydock.store.runs import Runs
from drydock.store.sealing import open_sealer
from drydock.store.secrets import Secrets


class OwnedExecutor(Executor, Protocol):
    """An executor with a life of its own."""

    @property
    def broken(self) -> bool:
        """No program can be run any more."""
        ...

    @property
    def yard(self) -> Yard | None:
        """Where boxes are opened that runs are worked in; None while there is none."""
        ...

    async def open(self) -> None:
        """Languages found, boxes parked; CannotStart when this host cannot give what the settings ask for."""
        ...

    async def close(self) -> None:
        """Nothing of it is left when this returns."""
        ...


class App:
    """All rooms. `build` opens what is on disk, `open` starts the boxes, `close` ends everything in reverse."""

    def __init__(self, settings: Settings, executor: OwnedExecutor, log: Log, makes: Makes | None = None) -> None:
        """`makes` gives each run its parts, in place of the real ones."""
        self.settings = settings
        self.runs: RunRoom | None = None
        self.executor = executor
        self.log = log
        self.bound_host = settings.host
        self._asgi: ASGIApp | None = None
        with ExitStack() as owned:
            self.lock = FolderLock(settings.data)
            owned.callback(self.lock.release)
            self.database = database = connect(settings.database, settings.data)
            owned.callback(database.close)
            migrate(database)
            self.objects = open_objects(settings.objects, settings.data)
            server = "local" if database.is_sqlite else name_of(settings.data)
            self.executions = Executions(database, self.objects, retention=settings.retention, server=server)
            owned.callback(self.executions.close)
            self.executions.interrupt_unfinished()
            retention = Retention(self.executions)
            owned.callback(retention.close)
            self.probe = StoreProbe(database)
            owned.callback(self.probe.close)
            self.ring = KeyRing(database)
            owned.callback(self.ring.close)
            must_have_credential(settings, self.ring.snapshot)
            self.models = Models(settings, _sealed(settings, database))
            lent = Lent(database, lambda: open_sealer(settings.data, settings.secrets_key))
            self.makes = makes or RealParts(
                settings, lambda: executor.yard, self.models, lent, Legacies(Runs(database), self.objects), self.objects
            )
            self._real = makes is None
            self._owned = owned.pop_all()

    @property
    def asgi(self) -> ASGIApp:
        assert self._asgi is not None, "the app is not open"
        return self._asgi

    async def open(self) -> None:
        settings, executor = self.settings, self.executor
        await executor.open()
        metrics = Metrics()
        archive = Archive(self.executions, self.objects)
        self.desk = Desk(executor, archive, self.log, metrics, queue=settings.queue, output_bytes=settings.output_bytes)
        places = self.desk.places
        metrics.gauge("drydock_executions_running", "Executions that run now.", lambda: places.taken)
        metrics.gauge("drydock_executions_queued", "Executions that wait for a place.", lambda: places.queued)
        metrics.gauge("drydock_capacity", "Executions that can run at once.", lambda: places.capacity)

        guard = Guard(self._admit)
        health = Health(executor, self.desk, lambda: self.probe.works and not executor.broken, self._open_to)
        code = CodeDoors(settings, executor, self.desk, health)
        self.routers: list[Router] = []
        if settings.only:
            door, form = await self._alone(settings.only, code, guard)
            self._asgi = Border(door, form, self.log, metrics, lambda: self.desk.draining)
            return

        under_code = Router("code", code_shape)
        code.mount(under_code, guard, "/code")
        under_v1 = Router("native", native)
        orders = Orders(settings, executor)
        EnvironmentDoors(executor, Installing(executor, self.desk), settings.body_limit).mount(under_v1, guard)
        ExecutionDoors(self.desk, archive, orders, settings.body_limit).mount(under_v1, guard)
        polychat = await self._open_runs(under_v1, guard)
        service = Router("service", native)
        self.routers = [under_code, under_v1, service]
        rest: Door = Router("bare", FORMS[settings.root])
        if settings.bare:
            bare = Bare(settings, guard, code, health, executor, polychat)
            self.routers += [bare.router] if bare.users is None else [bare.router, bare.users]
            rest = bare
        under_polychat: Door = rest
        if polychat is not None:
            under_polychat = doors = polychat.front(POLYCHAT)
            self.routers += doors.routers
        Pages(document(*self._documents()), metrics).mount(service, guard)
        mounts = Mounts(
            {
                "code": under_code,
                "polychat": under_polychat,
                "v1": under_v1,
                "metrics": service,
                "openapi.json": service,
                "docs": service,
            },
            rest,
        )
        self._asgi = Border(mounts, FORMS[settings.root], self.log, metrics, lambda: self.desk.draining)

    async def _alone(self, only: str, code: CodeDoors, guard: Guard) -> tuple[Door, Shape]:
        """One contract at the root, with exactly its forms, and no other door."""
        if only == "polychat":
            polychat = await self._open_runs(None, guard)
            if polychat is None:
                return Router("polychat", polychat_shape), polychat_shape
            doors = polychat.front("")
            self.routers = [*doors.routers]
            return doors, polychat_shape
        front = Router("code", code_shape)
        self.routers = [front]
        code.mount(front, guard, "")
        return front, code_shape

    @property
    def _serves_runs(self) -> bool:
        return self.runs is not None and self.settings.role != "worker"

    def _documents(self) -> Iterator[Json]:
        """What is served, in parts of the OpenAPI document."""
        runs, bare = self._serves_runs, self.settings.bare
        yield NATIVE
        yield from (RUNS, polychat_paths(POLYCHAT)) if runs else ()
        yield code_paths("/code")
        yield bare_paths(runs) if bare else {}
        yield SERVICE

    async def _open_runs(self, router: Router | None, guard: Guard) -> Polychat | None:
        """`router` gets the native doors of runs; None serves none of them."""
        settings, executor = self.settings, self.executor
        self.runs = open_room(settings, self.database, self.objects, lambda: executor.yard, self.makes, self.log)
        if self._serves_runs and router is not None:
            asks = RunOrders(settings, quota(settings), self.models if self._real else None)
            RunDoors(self.runs.records, self.runs.admission, asks, settings.body_limit).mount(router, guard)
            ControlDoors(self.runs.records, self.runs.control, settings.body_limit).mount(router, guard)
            ArtefactDoors(self.runs.records).mount(router, guard)
            turns = open_turns(settings, self.runs.records, lambda: executor.yard)
            DiffDoor(self.runs.records, turns).mount(router, guard)
        await self.runs.open()
        if not self._serves_runs:
            return None
        records, admission, control = self.runs.records, self.runs.admission, self.runs.control
        return Polychat(settings, records, admission, control, guard, partial(quota_of, settings))

    async def drain(self) -> None:
        self.log.info("draining", running=self.desk.places.taken, queued=self.desk.places.queued)
        if self.runs is not None:
            await self.runs.drain()
        await self.desk.drain(self.settings.shutdown_grace)

    def hurry(self) -> None:
        self.log.warning("hurrying", running=self.desk.places.taken)
        self.desk.stop_all("server_shutdown")

    async def close(self) -> None:
        if self.runs is not None:
            await self.runs.close()
        await self.models.close()
        await self.executor.close()

    def release(self) -> None:
        """Write what waits to be written, give the data folder back. May be called again."""
        self._owned.close()

    def notices(self) -> list[str]:
        """What an operator should know at start, one line each."""
        return notices(self.settings, self.executor, self.ring.snapshot, self.models, self.bound_host)

    def _open_to(self) -> str | None:
        """Who everybody is that calls, while there is no key."""
        return None if has_credential(self.settings, self.ring.snapshot) else LOCAL.id

    def _admit(self, knock: Knock) -> Caller:
        caller = admit(self.settings, self.ring.snapshot, self.bound_host, knock)
        if caller.key_id is not None:
            self.ring.used(caller.key_id)
        return caller


def _sealed(settings: Settings, database: Database) -> Sealed:
    """The sealing key is looked for when the first secret is: a server that needs none makes none."""

    def get(name: str) -> str | None:
        return Secrets(database, open_sealer(settings.data, settings.secrets_key)).get(name)

    return get


def build(settings: Settings, executor: OwnedExecutor, log: Log, makes: Makes | None = None) -> App:
    """Everything but the boxes, which `App.open` starts. CannotStart when something is in the way."""
    return App(settings, executor, log, makes)


def make_log(settings: Settings) -> Log:
    secrets = [str(getattr(settings, name)) for name in Settings.model_fields if is_secret(name)]
    return Log(settings.log_level, secrets=secrets)


def serve(settings: Settings, executor: OwnedExecutor | None = None, makes: Makes | None = None) -> int:
    """Run the server until it is told to stop; the exit code. CannotStart before anything listens or runs."""
    log = make_log(settings)
    listener = None
    app = None
    try:
        app = build(settings, executor or boxes(settings, log), log, makes)
        listener = listen(settings.host, settings.port)
        address = address_of(listener)
        app.lock.tell(address)
        _forward_library_logs(log)

        def ready() -> None:
            pages = "" if settings.only else f" (API: http://{address}/docs)"
            lines = [f"Drydock {__version__} listens on http://{address}{pages}", *app.notices()]
            sys.stdout.write("\n".join(lines) + "\n")
            sys.stdout.flush()

        running = Running(app, listener, settings.receive_timeout)
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(running.run(ready))
    finally:
        if listener is not None:
            listener.close()
        if app is not None:
            app.release()
        log.close()
    return 0


def boxes(settings: Settings, log: Log | None = None) -> OwnedExecutor:
    """The real executor."""
    return BoxedExecutor(settings, log or make_log(settings))


def _forward_library_logs(log: Log) -> None:
    root = logging.getLogger()
    root.addHandler(Forward(log))
    root.setLevel(logging.INFO)
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
