"""Environments that are made by themselves, with no program to run: each takes a place, as an execution would."""

from __future__ import annotations

from drydock.api.call import Call
from drydock.api.executions.desk import Desk
from drydock.box.stop import Stop
from drydock.code.executor import Executor
from drydock.errors import Draining, Invalid, Unavailable
from drydock.packages.builds import Stopped
from drydock.packages.environments import Environment
from drydock.packages.failed import InstallFailed
from drydock.packages.packages import Packages
from drydock.packages.wanted import Name, Wanted


class Installing:
    def __init__(self, executor: Executor, desk: Desk) -> None:
        self._executor, self._desk = executor, desk

    @property
    def packages(self) -> Packages:
        if self._executor.packages is None:
            raise Unavailable("this server installs no packages")
        return self._executor.packages

    async def create(self, call: Call, name: Name, wanted: Wanted, *, within_s: float) -> tuple[Environment, bool]:
        """The environment, and whether there was one of that name. A caller who hangs up ends the installation."""
        if self._desk.draining:
            raise Draining("server is shutting down")
        self._desk.places.take()
        stop = Stop()
        try:
            with call.if_gone(lambda: stop("cancelled")):
                return await self.packages.create(name, wanted, within_s=within_s, stop=stop)
        except InstallFailed as failed:
            # No program follows, on whose error stream the installer's own words would come.
            raise Invalid(failed.text.rstrip(), where="requirements", hint="Mend what the installer names.") from failed
        except Stopped:
            raise Draining("the installation was ended before it was done") from None
        finally:
            self._desk.places.give_back()
