"""The image: built, looked at, run as nobody in particular with a read-only root, pushed to a folder."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from drydock.box.obstacle import PROC
from drydock.box.obstacle import SECCOMP as SECCOMP_WORDS
from tests.attacks.started import Started, all_pids, uid_of
from tests.image import machine
from tests.image.conftest import HEALTHY_WITHIN, RANDOM_UID, Container
from tests.image.podman import FLAGS, NO_RIGHTS, READ_ONLY, SECCOMP, UNMASK, Podman, Run
from tests.standins.index import Index
from tests.standins.wheels import wheel

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]
FIRST_BOX_UID = 351_000
AS_ANYBODY = ("--user", f"{RANDOM_UID}:0")


def execute(server: Container, code: str, **fields: Any) -> dict[str, Any]:
    reply = server.post("/code/execute", {"code": code, **fields})
    assert reply.status_code == 200, reply.text
    return dict(reply.json())


def test_it_says_what_it_is(podman: Podman, image: str) -> None:
    about = json.loads(podman("inspect", image))[0]
    config = about["Config"]
    assert config["User"] == "10001:0"
    assert config["ExposedPorts"] == {"8080/tcp": {}}
    assert config["Entrypoint"][:2] == ["drydock", "serve"]
    assert "/health" in " ".join(_health_check(podman, image))


def _health_check(podman: Podman, image: str) -> list[str]:
    about = json.loads(podman("inspect", image))[0]
    return list((about.get("HealthCheck") or about["Healthcheck"])["Test"])  # podman 4's spelling, and podman 5's


def test_server_python_uv_and_bubblewrap_are_in_it_and_run_as_anybody(podman: Podman, image: str) -> None:
    flags = (*AS_ANYBODY, *READ_ONLY, *NO_RIGHTS)
    assert podman.run(image, "--version", flags=flags, command="uv").startswith("uv ")
    assert podman.run(image, "version", flags=flags, command="drydock").strip()
    assert podman.run(image, "--version", flags=flags, command="python3").startswith("Python 3.")
    assert podman.run(image, "--version", flags=flags, command="bwrap").startswith("bubblewrap ")
    assert podman.run(image, "-u", flags=READ_ONLY, command="id").strip() == "10001"
    profile = podman.run(image, "/opt/drydock/seccomp.json", flags=flags, command="cat")
    assert profile == (Path(SECCOMP[1].partition("=")[2])).read_text()


def test_nothing_says_where_its_packages_came_from(podman: Podman, image: str) -> None:
    host = urlsplit(machine.mirror()).hostname
    look = f"grep -rlF {host} /etc /opt /root /var 2>/dev/null; find / -xdev -name '*{host}*' 2>/dev/null; echo looked"
    assert podman.run(image, "-c", look, flags=("--user", "0:0"), command="sh") == "looked\n"


def test_it_is_healthy_within_five_seconds_of_its_start(make_server: Callable[..., Container]) -> None:
    server = make_server(only="code")
    assert server.healthy_after < HEALTHY_WITHIN
    assert server.get("/health").json()["status"] == "healthy"


def test_a_program_is_neither_root_nor_in_the_servers_namespaces(server: Container) -> None:
    said = execute(
        server, "import os; print(os.getuid(), *(os.readlink('/proc/self/ns/' + n) for n in 'pid mnt net'.split()))"
    )
    uid, *inside = said["stdout"].split()
    assert int(uid) != 0
    outside = [os.readlink(f"/proc/self/ns/{name}") for name in ("pid", "mnt", "net")]
    assert not set(inside) & set(outside)


def test_its_own_health_check_passes(podman: Podman, image: str, server: Container) -> None:
    kind, *command = _health_check(podman, image)
    assert kind == "CMD"
    podman("exec", server.id, *command)


def test_requirements_are_installed_from_an_index(podman: Podman, image: str, open_folder: Path) -> None:
    run = Run(podman, image, RANDOM_UID, open_folder)
    os.chown(open_folder, RANDOM_UID, 0)
    with Index() as index, Started(open_folder, launch=run, python_index=index.pypi) as server:
        index.publish(wheel("alpha", "1.5"))
        first = server.run("import alpha; print(alpha.__version__)", requirements=["alpha"])
        assert (first["status"], first["stdout"]) == ("success", "1.5\n"), first
        asked = len(index.asked)
        assert server.run("import alpha; print('again')", requirements=["alpha"])["stdout"] == "again\n"
        assert len(index.asked) == asked


def test_root_that_may_gives_each_box_a_uid_of_its_own(podman: Podman, image: str, open_folder: Path) -> None:
    flags = (*SECCOMP, *UNMASK, *READ_ONLY, "--cap-add", "SYS_ADMIN")
    run = Run(podman, image, 0, open_folder, flags)
    with Started(open_folder, launch=run, uid_base=FIRST_BOX_UID) as server:
        assert int(server.run("import os; print(os.getuid())")["stdout"]) != 0
        assert FIRST_BOX_UID in {uid_of(pid) for pid in all_pids()}


def test_a_program_that_takes_all_memory_of_the_container_ends_before_the_server(
    podman: Podman, image: str, open_folder: Path
) -> None:
    """Its memory is counted for each process only, so it is the container's limit that it meets."""
    run = Run(podman, image, RANDOM_UID, open_folder, (*FLAGS, "--memory", "400m"))
    os.chown(open_folder, RANDOM_UID, 0)
    greedy = """
import os, time
for _ in range(20):
    if os.fork() == 0:
        taken = bytearray(b'x') * (60 << 20)
        time.sleep(20)
time.sleep(2)
print(sum(os.waitpid(-1, os.WNOHANG)[0] != 0 for _ in range(20)))
"""
    with Started(open_folder, launch=run) as server:
        said = server.run(greedy, timeout_seconds=10)
        assert said.get("signal") == "SIGKILL" or int(said["stdout"]) > 0, said
        assert server.run("print('next')")["stdout"] == "next\n"
        assert server.process.poll() is None


def test_without_the_profile_the_start_says_so(podman: Podman, image: str) -> None:
    said = podman.run(image, flags=(*AS_ANYBODY, *READ_ONLY, *NO_RIGHTS, *UNMASK))
    assert SECCOMP_WORDS in said
    assert PROC not in said


def test_with_a_masked_proc_the_start_says_so(podman: Podman, image: str) -> None:
    said = podman.run(image, flags=(*AS_ANYBODY, *READ_ONLY, *NO_RIGHTS, *SECCOMP))
    assert PROC in said
    assert SECCOMP_WORDS not in said


def test_an_engines_root_is_refused_unless_it_can_give_boxes_a_uid(podman: Podman, image: str) -> None:
    said = podman.run(image, flags=("--user", "0:0", *READ_ONLY, *SECCOMP, *UNMASK))
    assert "uid 0 without CAP_SYS_ADMIN" in said


def test_the_verb_pushes_it_to_a_folder(podman: Podman, image: str, build_flags: str, tmp_path: Path) -> None:
    repo = f"oci:{tmp_path / 'pushed'}"
    podman.make("sandbox-push", IMAGE_TAG="proof", SANDBOX_IMAGE_REPO=repo, BUILD_FLAGS=build_flags)
    index = json.loads((tmp_path / "pushed" / "index.json").read_text())
    assert index["manifests"][0]["annotations"]["org.opencontainers.image.ref.name"] == "proof"
