"""Both doors of this contract, under its prefix and at the bare root."""

from __future__ import annotations

from drydock.api.call import Call
from drydock.api.guard import Guard
from drydock.api.router import Router
from drydock.dialects.polychat import shape
from drydock.dialects.polychat.order import Orders
from drydock.dialects.polychat.starts import Quotas, Starts
from drydock.dialects.polychat.users import UserDoors
from drydock.dialects.polychat.worker import WorkerDoor
from drydock.run.admission import Admission
from drydock.run.control import Control
from drydock.run.records import Records
from drydock.settings import Settings

PREFIX = "/polychat"
USERS = ("/apps/", "/sandbox/", "/webhooks/")
"""How the users' paths begin; everything else is the worker's, which knows one."""


class Polychat:
    def __init__(
        self,
        settings: Settings,
        records: Records,
        admission: Admission,
        control: Control,
        guard: Guard,
        quotas: Quotas,
    ) -> None:
        orders, starts = Orders(settings), Starts(records, admission, quotas)
        self.worker = WorkerDoor(orders, starts, guard, bool(settings.jwt_secret.strip()))
        self._users = UserDoors(records, control, orders, starts, quotas, settings.jwt_plan)
        self._guard = guard

    def front(self, base: str) -> Front:
        """All of it below that path, which may be none."""
        worker, users = Router("polychat", shape.worker), Router("polychat", shape.users)
        self.worker.mount(worker, base)
        self._users.mount(users, self._guard, base)
        return Front(base, worker, users)

    def bare(self) -> Router:
        """The users' API at the root, where POST /execute is every contract's."""
        users = Router("polychat", shape.users)
        self._users.mount(users, self._guard, "")
        return users


class Front:
    """Which of the two doors a path belongs to: they refuse in different forms."""

    def __init__(self, base: str, worker: Router, users: Router) -> None:
        self._base, self._worker, self._users = base, worker, users
        self.routers = (worker, users)

    async def __call__(self, call: Call) -> None:
        await (self._users if call.path.removeprefix(self._base).startswith(USERS) else self._worker)(call)
