"""What boxes of one server share: what the host offers, the uids, the system call filter, the thread that spawns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

from drydock.box import host
from drydock.box.cgroup import Cgroup
from drydock.box.compiled import compile_inside
from drydock.box.gvisor import Runsc
from drydock.box.host import Host, Uids
from drydock.box.limits import Limits
from drydock.box.overhead import GVISOR
from drydock.box.seccomp import layer_bytes
from drydock.observe.log import Log


@dataclass(frozen=True, slots=True)
class Yard:
    host: Host
    seccomp: tuple[bytes, bytes]
    """The filter's two layers: see seccomp.layer_bytes."""
    limits: Limits
    """Of a box for which nobody asks for others."""
    uids: Uids
    log: Log
    inside: Sequence[tuple[str, str]]
    """Our own programs in a box: see compiled.py."""
    store: Path
    """Read-only trees that boxes may be given, each a folder; see Program.layers."""
    spawner: Executor
    """One thread that lives as long as the server: bubblewrap dies with the thread that started it."""

    runsc: Runsc | None = None
    """Boxes of this yard run their programs in gVisor."""
    usual: Mapping[str, str] = field(default_factory=dict)
    """The environment that most programs of single-use boxes will ask for: it is laid out before they come."""

    def with_gvisor(self, runsc: Runsc) -> Yard:
        """The same yard for boxes with a second kernel, whose control groups have names of their own."""
        return replace(self, runsc=runsc)

    @classmethod
    def open(cls, python: Path, data: Path, uid_base: int, limits: Limits, log: Log) -> Yard:
        """Look at the host, and clear away what a killed server of the same data folder left in its control groups."""
        found = host.look(python, data)
        if found.root:
            host.must_be_able_root(uid_base)
        if found.hierarchy is not None:
            for name in found.hierarchy.left_over():
                found.hierarchy.group(name).remove()
        return cls(
            found,
            layer_bytes(host.machine()),
            limits,
            Uids(uid_base),
            log,
            compile_inside(found.interpreter.path, data.resolve() / "inside"),
            make_store(data),
            ThreadPoolExecutor(1, "drydock-spawner"),
        )

    def group(self, name: str) -> Cgroup | None:
        if self.host.hierarchy is None:
            return None
        if self.runsc is not None:
            return self.host.hierarchy.group("gvisor-" + name, GVISOR)
        return self.host.hierarchy.group(name)

    def close(self) -> None:
        self.spawner.shutdown()
        self.uids.close()
        if self.host.hierarchy is not None:
            self.host.hierarchy.remove()


def make_store(data: Path) -> Path:
    """Its folders are open to all, since a box reads them under a uid of its own; the data folder around it is not."""
    store = data.resolve() / "layers"
    for folder in (store, store / "empty"):
        folder.mkdir(mode=0o755, parents=True, exist_ok=True)
        folder.chmod(0o755)
    return store
