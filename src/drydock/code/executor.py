"""The one thing the doors ask of this room."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, Protocol

from drydock.box.stop import Stop
from drydock.box.tier import Isolation
from drydock.code.request import ExecutionRequest, ExecutionResult
from drydock.packages.packages import Packages

StreamName = Literal["stdout", "stderr"]
OnOutput = Callable[[StreamName, bytes], None]
OnProgress = Callable[[str], None]
"""A line about what goes on before the program starts, for a person to read."""


class Executor(Protocol):
    @property
    def default_language(self) -> str: ...

    @property
    def languages(self) -> Mapping[str, str]:
        """Available languages and the first line of their runtime's version, default first."""
        ...

    @property
    def capacity(self) -> int: ...

    @property
    def load(self) -> int:
        """Executions running now."""
        ...

    @property
    def isolation(self) -> str:
        """The tier in force: `box`, `gvisor` or `process`."""
        ...

    def check_isolation(self, wanted: str) -> Isolation:
        """The tier that a request names, no weaker than the one in force; Invalid says why it cannot be had."""
        ...

    @property
    def lost_promises(self) -> Sequence[str]:
        """What this host cannot give, one sentence each; empty as root on a host with cgroups."""
        ...

    @property
    def preinstalled(self) -> Sequence[str]:
        """What Python code can import with no requirements, beside the standard library."""
        ...

    @property
    def packages(self) -> Packages | None:
        """What requirements and environments are asked of; None where nothing can be installed."""
        ...

    async def execute(
        self,
        request: ExecutionRequest,
        *,
        stop: Stop | None = None,
        on_output: OnOutput | None = None,
        on_progress: OnProgress | None = None,
        queue: bool = False,
    ) -> ExecutionResult:
        """Run it to its end. AtCapacity at once when full, unless `queue`; a cancelled task kills the program."""
        ...
