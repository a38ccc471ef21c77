"""The tier of isolation that a request names: given as it is, or refused; never another one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.standins.server import Server

KERNEL = "import os; print(os.uname().release)"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("data")) as running:
        yield running


def test_a_request_gets_the_kernel_that_it_asks_for(server: Server) -> None:
    first = server.post("/v1/executions", {"code": KERNEL}).json()
    second = server.post("/v1/executions", {"code": KERNEL, "isolation": "gvisor"}).json()
    assert (first["isolation"], second["isolation"]) == ("box", "gvisor")
    assert first["stdout"] != second["stdout"] == "4.4.0\n"


def test_gvisor_keeps_the_promises_of_a_request(server: Server) -> None:
    code = """
import os, sys
print(sys.stdin.read(), open("data/in.txt").read(), os.environ["WORD"], os.getuid() != 0)
open("output/out.bin", "wb").write(bytes(range(256)))
sys.exit(3)
"""
    asked = {"code": code, "isolation": "gvisor", "stdin": "in", "files": {"data/in.txt": "file"}, "env": {"WORD": "w"}}
    told = server.post("/v1/executions", asked).json()
    assert told["stdout"] == "in file w True\n"
    assert (told["ended"]["reason"], told["ended"]["exit_code"], told["ended"]["survivors"]) == ("exit_nonzero", 3, 0)
    assert told["ended"]["peak_memory_bytes"] > 0
    assert [file["name"] for file in told["files"]] == ["out.bin"]


@pytest.mark.parametrize("language", ["shell", "node"])
def test_other_languages_run_in_gvisor_too(server: Server, language: str) -> None:
    code = {"shell": "echo hi", "node": "console.log('hi')"}[language]
    told = server.post("/v1/executions", {"code": code, "language": language, "isolation": "gvisor"}).json()
    assert (told["stdout"], told["ended"]["reason"]) == ("hi\n", "completed"), told


def test_a_weaker_tier_than_the_servers_is_refused(server: Server) -> None:
    reply = server.post("/v1/executions", {"code": "1", "isolation": "process"})
    assert reply.status_code == 400
    assert "weaker" in reply.json()["error"]["message"]
    assert "box or gvisor" in reply.text


def test_an_unknown_tier_is_refused_with_those_there_are(server: Server) -> None:
    reply = server.post("/v1/executions", {"code": "1", "isolation": "vm"})
    assert reply.status_code == 400
    assert "box or gvisor" in reply.text


def test_where_gvisor_is_not_installed_a_request_for_it_says_what_to_install(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("drydock.box.gvisor.SEEN_IN_A_BOX", "/nowhere")
    reply = server.post("/v1/executions", {"code": "1", "isolation": "gvisor"})
    assert reply.status_code == 400
    assert "gVisor is not installed" in reply.text
    assert "apt-get install runsc" in reply.text


def test_a_server_whose_tier_is_gvisor_gives_no_plain_box(tmp_path: Path) -> None:
    with Server(tmp_path / "data", isolation="gvisor") as server:
        assert server.get("/health").json()["isolation"] == "gvisor"
        assert server.post("/code/execute", {"code": KERNEL}).json()["stdout"] == "4.4.0\n"
        assert server.post("/v1/executions", {"code": "1", "isolation": "box"}).status_code == 400


def test_a_server_without_walls_says_so(tmp_path: Path) -> None:
    with Server(tmp_path / "data", isolation="process") as server:
        health = server.get("/health").json()
        assert health["isolation"] == "process"
        assert any("no walls" in promise for promise in health["lost_promises"])
        assert any("no wall" in line for line in server.app.notices())
        told = server.post("/v1/executions", {"code": "print(1)"}).json()
        assert (told["stdout"], told["isolation"]) == ("1\n", "process")
        stronger = server.post("/v1/executions", {"code": KERNEL, "isolation": "box"}).json()
        assert stronger["isolation"] == "box"
