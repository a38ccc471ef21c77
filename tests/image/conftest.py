"""A base made by debootstrap, since no image can be pulled here; our image on it; and servers in containers."""

from __future__ import annotations

import io
import json
import os
import shlex
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

import httpx
import pytest

from tests.image import machine
from tests.image.podman import FLAGS, HERE, Podman
from tests.standins.server import named

BASE = "localhost/base:debian"
HEALTHY_WITHIN = 5.0
RANDOM_UID = 387_654


@pytest.fixture(scope="session")
def podman() -> Iterator[Podman]:
    folder = Path(tempfile.mkdtemp(prefix="drydock-image-"))
    engine = Podman(folder)
    try:
        yield engine
    finally:
        engine.close()


@pytest.fixture(scope="session")
def base(podman: Podman, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Debian with Python and its venv module, and no word of where its packages came from."""
    folder = tmp_path_factory.mktemp("base")
    root, archive = folder / "root", folder / "base.tar"
    packages = "python3,python3-venv,ca-certificates"
    made = subprocess.run(
        ["debootstrap", "--variant=minbase", f"--include={packages}", machine.release(), str(root), machine.mirror()],
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert made.returncode == 0, made.stdout[-3000:]
    (root / "etc/apt/sources.list").unlink()
    subprocess.run(["tar", "-C", str(root), "-cf", str(archive), "."], check=True)
    podman("import", str(archive), BASE)
    subprocess.run(["rm", "-rf", "--one-file-system", str(folder)], check=True)
    return BASE


@pytest.fixture(scope="session")
def build_flags(base: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    mounts = machine.mounts(tmp_path_factory.mktemp("machine"))
    volumes = [word for source, place in mounts for word in ("--volume", f"{source}:{place}:ro")]
    # chroot, since a build has no need of more isolation here, and a machine in a container may not give it.
    return shlex.join(
        ["--isolation", "chroot", "--network", "host", "--pull=never", "--build-arg", f"BASE={base}", *volumes]
    )


@pytest.fixture(scope="session")
def image(podman: Podman, build_flags: str) -> str:
    """Built by the verb that its users build it with."""
    podman.make("sandbox-build", IMAGE_TAG="proof", BUILD_FLAGS=build_flags)
    return "localhost/drydock-sandbox:proof"


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """That any user can walk to, unlike pytest's."""
    with tempfile.TemporaryDirectory(prefix="drydock-contained-") as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


class Container:
    """Our image as its users run it, with a port of this machine; the tests of tests/dialects take it for a Server."""

    def __init__(self, podman: Podman, image: str, **told: Any) -> None:
        self._podman = podman
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = int(probe.getsockname()[1])
        only = ("--only", str(told.pop("only", "")))
        told = {"shutdown_grace": 0.2, **told}
        environ = [word for name, value in told.items() for word in ("--env", f"DRYDOCK_{name.upper()}={value}")]
        user = ("--user", f"{RANDOM_UID}:0", "--publish", f"127.0.0.1:{port}:8080", "--no-healthcheck")
        began = time.monotonic()
        self.id = podman("run", "--detach", *user, *HERE, *FLAGS, *environ, image, *only).strip()
        self.url = f"http://127.0.0.1:{port}"
        self.client = httpx.Client(base_url=self.url, timeout=30)
        self.healthy_after = self._await_health(began)

    def _await_health(self, began: float) -> float:
        while time.monotonic() < began + 30:
            try:
                if self.client.get("/health", timeout=5).status_code == 200:
                    return time.monotonic() - began
            except httpx.TransportError:
                time.sleep(0.02)  # nothing tells when another process begins to listen
        raise AssertionError(f"not healthy: {self.log.getvalue()}")

    @property
    def log(self) -> io.StringIO:
        return io.StringIO(self._podman("logs", self.id, check=False))

    def post(self, path: str, body: Any, **headers: str) -> httpx.Response:
        sent = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.client.post(path, content=sent, headers=named(headers))

    def get(self, path: str, **headers: str) -> httpx.Response:
        return self.client.get(path, headers=named(headers))

    def close(self) -> None:
        self.client.close()
        self._podman("rm", "--force", "--time", "5", self.id)

    def __enter__(self) -> Container:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@pytest.fixture(scope="module")
def server(podman: Podman, image: str) -> Iterator[Container]:
    with Container(podman, image, max_concurrent=8) as running:
        yield running


@pytest.fixture
def make_server(podman: Podman, image: str) -> Iterator[Callable[..., Container]]:
    with ExitStack() as running:

        def make(name: str = "", **told: Any) -> Container:
            return running.enter_context(Container(podman, image, **told))

        yield make
