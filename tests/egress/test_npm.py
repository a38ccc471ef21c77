"""npm packages through the relay."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from drydock.egress.grants import Credential, PackagesGrant
from tests.egress.door import Door
from tests.standins.index import Index
from tests.standins.wheels import tarball

LOGIN = ("buyer", "hunter2")


def npm(folder: Path, registry: str, *words: str) -> None:
    """Only what is said here: no configuration of the machine's."""
    folder.mkdir(exist_ok=True)
    flags: list[str | Path] = [
        "--no-audit",
        "--no-fund",
        "--no-update-notifier",
        "--fetch-retries=0",
        "--cache",
        folder / "cache",
    ]
    environ = {"PATH": os.environ["PATH"], "HOME": str(folder), "npm_config_globalconfig": str(folder / "none")}
    command: list[str | Path] = ["npm", *words, "--registry", registry, *flags]
    done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("login", [None, LOGIN])
def test_npm_installs_through_the_relay_from_two_hosts(tmp_path: Path, login: tuple[str, str] | None) -> None:
    credential = Credential.basic(*login) if login else None
    with Index(login=login) as index, Door(PackagesGrant.of("npm", index.npm, credential)) as door:
        index.publish(tarball("@scope/alpha", package={"dependencies": {"beta": "^1.0.0"}}), tarball("beta"))
        npm(tmp_path / "work", door.url + "/npm/", "install", "@scope/alpha")
        assert door.denied == []
        assert all("authorization" not in asked.headers for asked in index.files.asked)
    assert (tmp_path / "work/node_modules/@scope/alpha/index.js").exists()
    assert (tmp_path / "work/node_modules/beta/index.js").exists()


@pytest.mark.parametrize("resolved", ["as npm's own registry", "left out"])
def test_npm_installs_what_a_lock_file_names(tmp_path: Path, resolved: str) -> None:
    """Tarballs are asked for by the addresses that the lock was made with, before any page was."""
    beta = tarball("@scope/beta")
    locked: dict[str, object] = {"version": "1.0.0", "integrity": beta.integrity}
    if resolved == "as npm's own registry":
        locked["resolved"] = "https://" + "registry.npm" + "js.org/@scope/beta/-/beta-1.0.0.tgz"
    package = {"name": "app", "version": "1.0.0", "dependencies": {"@scope/beta": "^1.0.0"}}
    lock = {**package, "lockfileVersion": 3, "packages": {"": package, "node_modules/@scope/beta": locked}}
    work = tmp_path / "work"
    work.mkdir()
    (work / "package.json").write_text(json.dumps(package))
    (work / "package-lock.json").write_text(json.dumps(lock))
    with Index() as index, Door(PackagesGrant.of("npm", index.npm)) as door:
        index.publish(beta)
        npm(work, door.url + "/npm/", "ci")
        assert door.denied == []
    assert (work / "node_modules/@scope/beta/index.js").exists()


def test_a_packument_keeps_what_an_installer_reads_and_loses_its_addresses() -> None:
    with Index() as index, Door(PackagesGrant.of("npm", index.npm)) as door:
        manifest = {"bin": {"alpha": "cli.js"}, "engines": {"node": ">=18"}, "scripts": {"install": "node x"}}
        index.publish(tarball("alpha", package={**manifest, "readmeFile": index.files.origin}))
        page = door.get("/npm/alpha").json()
        version = page["versions"]["1.0.0"]
        assert page["dist-tags"] == {"latest": "1.0.0"}
        assert version["dist"]["tarball"].startswith(door.url + "/files/")
        assert index.files.origin not in json.dumps(page)
    assert (version["bin"], version["engines"]) == (manifest["bin"], manifest["engines"])
    assert version["hasInstallScript"] is True
    assert version["dist"]["integrity"] == index.published[0].integrity


def test_a_lock_file_gets_no_tarball_that_the_page_does_not_link_to() -> None:
    with Index() as index, Door(PackagesGrant.of("npm", index.npm)) as door:
        index.publish(tarball("alpha"), tarball("beta"))
        assert door.get("/npm/alpha/-/beta-1.0.0.tgz").status_code == 403
        assert door.get("/npm/alpha/-/alpha-1.0.0.tgz").content == index.published[0].data
        assert door.get("/npm/gamma/-/gamma-1.0.0.tgz").status_code == 404
        assert door.denied == ["path"]
