"""Where rows are played: Drydock with small limits and planted secrets, or a server that walls nothing in."""

from __future__ import annotations

import base64
import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import httpx

from drydock.box.cgroup import Hierarchy
from drydock.box.limits import MIB, Limits
from tests.attacks.canaries import Canaries
from tests.attacks.listeners import Listeners
from tests.attacks.row import Row
from tests.attacks.started import LOWEST_BOX_UID, PER_SLOT, Launch, Started, all_pids, uid_of
from tests.standins.index import Index
from tests.standins.wheels import tarball, wheel

AIDS = Path(__file__).with_name("aids") / "aids.py"
CHECKOUT = Path(__file__).parents[2]
SMALL: Mapping[str, int] = {
    "memory": 128 * MIB,
    "work_bytes": 64 * MIB,
    "inodes": 4096,
    "processes": 48,
    "file_bytes": 48 * MIB,
    "open_files": 128,
    "output_bytes": MIB,
}
BARE_UID = 390_000
BARE = Path(__file__).parents[1] / "standins" / "bare_server.py"
BARE_PYTHON = "/usr/bin/python3"


@dataclass(frozen=True)
class Request:
    code: str
    language: str = "python"
    limit: int = 10
    files: Mapping[str, bytes] = field(default_factory=dict)
    requires: Sequence[str] = ()
    index: str = ""

    def body(self) -> dict[str, Any]:
        files = {"aids.py": AIDS.read_bytes(), **self.files}
        return {
            "code": self.code,
            "language": self.language,
            "timeout_seconds": self.limit,
            "files": {name: base64.b64encode(data).decode() for name, data in files.items()},
            **({"requirements": list(self.requires)} if self.requires else {}),
            **({"python_index": self.index} if self.index else {}),
        }


class Answer(NamedTuple):
    body: dict[str, Any]


class Arena(Protocol):
    patience: float
    planted: Planted

    def execute(self, request: Request, within: float = 60) -> Answer:
        """AssertionError when no 200 comes in time."""
        ...

    def assert_refused(self, request: Request) -> None:
        """It is answered by a 400 that says why."""
        ...

    def places(self) -> Mapping[str, str]:
        """What programs may name: HOST_FILE, OPEN_FILE and DATA are paths, TCP, TCP6, UDP and SERVER are ports,
        ABSTRACT and SOCKET unix addresses; TARGET and NODE_TARGET are where packages are put while they are installed,
        OPEN_INDEX is the address of the index without its login."""
        ...

    def await_no_survivors(self, within: float) -> None: ...

    def await_load(self, load: int, within: float) -> None: ...

    def await_load_0(self, within: float) -> None: ...

    def heard(self) -> bytes: ...

    def assert_no_canary_seen(self) -> None: ...

    def assert_nothing_elsewhere(self) -> None:
        """Nothing that an archive holds under the name of evil lies anywhere but where packages are kept."""
        ...


class Planted:
    """A folder that looks like a host's, with a secret in every place that an attacker knows."""

    def __init__(self, folder: Path, canaries: Canaries) -> None:
        self.canaries = canaries
        # The name of the data folder is a secret too: no path of the host belongs into a reply.
        self.data = folder / canaries.new("path of the data folder")
        self.data.mkdir(parents=True)
        canaries.file(self.data / "canary", "file in the data folder")
        self.host_file = canaries.file(folder / "host" / "private", "private host file")
        self.open_file = canaries.file(folder / "host" / "open", "host file that everybody may read", 0o644)
        for path in (folder, *folder.parents):
            if path != Path("/") and path.owner() == "root":
                path.chmod(path.stat().st_mode | 0o055)  # pytest's folders are private, a host's are not
        self.environ = {
            "SECRET_X": canaries.new("SECRET_X of the server"),
            "AWS_SECRET_ACCESS_KEY": canaries.new("AWS_SECRET_ACCESS_KEY of the server"),
            "ANTHROPIC_API_KEY": canaries.new("ANTHROPIC_API_KEY of the server"),
        }
        self.listeners = Listeners(folder / "listening.sock")
        self.folder = folder
        self.login = f"buyer:{canaries.new('login of the index')}"
        user, _, password = self.login.partition(":")
        canaries.spell("login of the index", self.login)
        self.index = Index(login=(user, password))
        self.index.publish(wheel("benign"), tarball("benign"))
        self._stocked: set[str] = set()

    @property
    def indexes(self) -> tuple[str, str]:
        """PyPI's and npm's, login included."""
        pypi, npm = (url.replace("://", f"://{self.login}@") for url in (self.index.pypi, self.index.npm))
        return pypi, npm

    def stock(self, row: Row, places: Mapping[str, str]) -> None:
        """Once for each row."""
        if row.shelf is None or row.name in self._stocked:
            return
        self._stocked.add(row.name)
        self.index.publish(*row.shelf(places))
        if row.stock is not None:
            row.stock(self.index)

    def assert_nothing_elsewhere(self, kept: Sequence[str]) -> None:
        found = [path for path in self.folder.rglob("*evil*") if not set(path.parts) & set(kept)]
        assert not found, f"written outside of the packages' own folder: {found}"

    def close(self) -> None:
        self.listeners.close()
        self.index.close()

    def places(self, port: int) -> dict[str, str]:
        return {
            "HOST_FILE": str(self.host_file),
            "OPEN_FILE": str(self.open_file),
            "DATA": str(self.data),
            "DATA_FILE": str(self.data / "canary"),
            "SERVER": str(port),
            "OPEN_INDEX": self.index.pypi,
            **self.listeners.places(),
        }


class Watch:
    """Looks through every reply as it comes."""

    def __init__(self, canaries: Canaries) -> None:
        self._canaries = canaries
        self._seen: list[str] = []

    def look(self, reply: bytes) -> None:
        self._seen += self._canaries.seen_in(reply)
        if str(CHECKOUT).encode() in reply:
            self._seen.append("path of the checkout")

    def assert_nothing(self) -> None:
        seen, self._seen = self._seen, []
        assert not seen, f"seen in replies: {sorted(set(seen))}"


class Drydock:
    patience = 1.0
    """What bounds on time are stretched by: a start of gVisor alone takes a quarter of a second of a processor."""

    def __init__(self, folder: Path, source: Path | None = None, launch: Launch | None = None, **settings: Any) -> None:
        self.planted = Planted(folder, Canaries())
        token = {"SERVER_AUTH_TOKEN": self.planted.canaries.new("SERVER_AUTH_TOKEN")}
        pypi, npm = self.planted.indexes
        packages = {"python_index": pypi, "npm_index": npm, "layer_bytes": 16 * MIB, "build_memory": 192 * MIB}
        if settings.get("isolation") == "gvisor":
            self.patience = 2.0
        told = {**SMALL, **packages, "max_concurrent": 3, **settings}
        if launch is not None:
            os.chown(self.planted.data, launch.uid, -1)
        self.server = Started(
            folder / "run",
            {**self.planted.environ, **token},
            source,
            data=self.planted.data,
            launch=launch,
            **told,
        )
        # Without root the server has its boxes' uid, and so is counted with them.
        self._idle = PER_SLOT * int(told["max_concurrent"]) + (launch is not None)
        self._watch = Watch(self.planted.canaries)

    def execute(self, request: Request, within: float = 60) -> Answer:
        try:
            reply = self.server.client.post("/code/execute", json=request.body(), timeout=within)
        except httpx.HTTPError as wrong:
            raise AssertionError(f"no answer within {within} s: {wrong!r}") from wrong
        self._watch.look(reply.content + str(reply.headers).encode())
        assert reply.status_code == 200, reply.text
        return Answer(reply.json())

    def assert_refused(self, request: Request) -> None:
        reply = self.server.client.post("/code/execute", json=request.body())
        self._watch.look(reply.content)
        assert reply.status_code == 400, reply.text

    def places(self) -> Mapping[str, str]:
        targets = {"TARGET": "/box/work/packages", "NODE_TARGET": "/box/work/tree/node_modules"}
        return {**self.planted.places(self.server.port), **targets}

    def await_no_survivors(self, within: float) -> None:
        self.server.await_idle_processes(self._idle, within)

    def await_load(self, load: int, within: float) -> None:
        self.server.await_load(load, within)

    def await_load_0(self, within: float) -> None:
        self.server.await_load(0, within)

    def assert_uids_of_their_own(self) -> None:
        """As the host sees them: each place is somebody who owns nothing, and no two are the same."""
        uids = self.server.uids
        assert len(uids) == self._idle // PER_SLOT, uids
        assert min(uids) >= LOWEST_BOX_UID, uids

    def heard(self) -> bytes:
        return self.planted.listeners.heard()

    def assert_no_canary_seen(self) -> None:
        self._watch.assert_nothing()

    def assert_nothing_elsewhere(self) -> None:
        self.planted.assert_nothing_elsewhere(["layers"])

    def close(self) -> None:
        self.planted.close()
        self.server.stop()


class BareServer:
    """HTTP and subprocess, nothing else. What keeps it from harming this machine is ours and outside of it: a uid of
    its own, so that it can signal and write nothing of anybody else's, pid and ipc namespaces that take all of it
    with them, and a control group. Within those it is an ordinary server of an ordinary user."""

    patience = 1.0

    def __init__(self, folder: Path) -> None:
        self.planted = Planted(folder, Canaries())
        self._folder = folder
        hierarchy = Hierarchy.find(f"bare-control-{os.getpid()}")
        assert hierarchy is not None, "the control group is what keeps the bare server in bounds"
        self._hierarchy = hierarchy
        self._group = hierarchy.group("server")
        self._group.make(Limits(memory_bytes=1 << 30, work_bytes=0, processes=400, cpus=2.0))
        for path in folder.rglob("*"):
            os.chown(path, BARE_UID, BARE_UID, follow_symlinks=False)
        enter = "".join(f"echo $$ > {path}; " for path in self._group.procs_files())
        guard = [
            f"{enter}ulimit -f 16777216; ulimit -c 0; exec",
            "unshare --mount --pid --ipc --fork --kill-child --mount-proc",
            f"setpriv --reuid {BARE_UID} --regid {BARE_UID} --clear-groups",
            f"{BARE_PYTHON} {BARE} {self.planted.data} {' '.join(self.planted.indexes)}",
        ]
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", " ".join(guard)],
            env={"PATH": os.environ["PATH"], "HOME": str(self.planted.data), **self.planted.environ},
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self._process.stdout is not None
        self._port = int(self._process.stdout.readline())
        self._client = httpx.Client(base_url=f"http://127.0.0.1:{self._port}")
        self._own = set(self._group.processes())
        self._watch = Watch(self.planted.canaries)

    def execute(self, request: Request, within: float = 60) -> Answer:
        try:
            reply = self._client.post("/code/execute", json=request.body(), timeout=within)
        except httpx.HTTPError as wrong:
            raise AssertionError(f"no answer within {within} s: {wrong!r}") from wrong
        self._watch.look(reply.content)
        assert reply.status_code == 200, reply.text
        return Answer(reply.json())

    def assert_refused(self, request: Request) -> None:
        """It refuses nothing; what comes of it is searched for secrets first."""
        self.execute(request, 20)
        assert not self.heard(), "it asked whomever the requirement named"
        self.assert_no_canary_seen()
        raise AssertionError("it was not refused")

    def places(self) -> Mapping[str, str]:
        data = self.planted.data
        targets = {"TARGET": str(data / "packages"), "NODE_TARGET": str(data / "node_modules")}
        return {**self.planted.places(self._port), **targets}

    def survivors(self) -> int:
        return len([pid for pid in self._group.processes() if pid not in self._own and uid_of(pid) is not None])

    def await_no_survivors(self, within: float) -> None:
        self._await(lambda: self.survivors() == 0, within, "survivors")

    def await_load(self, load: int, within: float) -> None:
        self._await(lambda: self._load() == load, within, f"load is not {load}")

    def await_load_0(self, within: float) -> None:
        self.await_load(0, within)

    def _load(self) -> int:
        try:
            return int(self._client.get("/health", timeout=2).json()["current_load"])
        except httpx.HTTPError as wrong:
            raise AssertionError(f"the server does not answer: {wrong!r}") from wrong

    def _await(self, holds: Any, within: float, what: str) -> None:
        give_up = time.monotonic() + within
        while not holds():
            assert time.monotonic() < give_up, what
            self._load()

    def heard(self) -> bytes:
        return self.planted.listeners.heard()

    def assert_no_canary_seen(self) -> None:
        self._watch.assert_nothing()

    def assert_nothing_elsewhere(self) -> None:
        self.planted.assert_nothing_elsewhere(["packages", "node_modules"])

    def close(self) -> None:
        self._client.close()
        self.planted.close()
        self._group.kill()
        self._process.wait(10)
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._group.remove()
        self._hierarchy.remove()
        for shared in ("/tmp", "/var/tmp", "/dev/shm", "/run/lock"):
            mine = ["-mindepth", "1", "-maxdepth", "1", "-uid", str(BARE_UID), "-exec", "rm", "-rf", "{}", "+"]
            subprocess.run(["find", shared, *mine], check=True)
        # Not shutil.rmtree, which recurses: a row leaves folders that are deeper than Python's stack.
        subprocess.run(["rm", "-rf", "--", str(self._folder)], check=True)
        self._await_nobody()

    def _await_nobody(self) -> None:
        """Whoever was killed may still be on his way out."""
        give_up = time.monotonic() + 5
        while alive := [pid for pid in all_pids() if uid_of(pid) == BARE_UID]:
            assert time.monotonic() < give_up, f"still alive: {alive}"
