"""The stand-in index is one to real installers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.standins.index import Index
from tests.standins.wheels import sdist, tarball, wheel

UV = Path(sys.executable).parent / "uv"


def install(index: str, target: Path, *wanted: str) -> None:
    command: list[str | Path] = [
        UV,
        "pip",
        "install",
        "--no-config",
        "--no-cache",
        "--target",
        target,
        "--index-url",
        index,
    ]
    environ = {"PATH": os.environ["PATH"], "HOME": str(target.parent)}
    done = subprocess.run(
        [*command, "--python", sys.executable, *wanted], env=environ, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("json", [True, False])
@pytest.mark.parametrize("links", ["absolute", "relative", "base"])
def test_uv_installs_a_wheel_and_what_it_needs_built_from_source(tmp_path: Path, json: bool, links: str) -> None:
    with Index(json=json, apart=links == "absolute") as index:
        index.links = links
        index.publish(
            wheel("alpha", requires=["beta>=2"]), sdist("beta", "2.1", script="entries['made.py'] = b'x = 1'")
        )
        install(index.pypi, tmp_path / "target", "alpha")
    assert {"alpha", "beta", "made.py"} <= {path.name for path in (tmp_path / "target").iterdir()}


def test_npm_installs_a_package_and_what_it_needs(tmp_path: Path) -> None:
    with Index() as index:
        index.publish(tarball("@scope/alpha", package={"dependencies": {"beta": "^1.0.0"}}), tarball("beta"))
        npm: list[str | Path] = [
            "npm",
            "install",
            "--registry",
            index.npm,
            "--cache",
            tmp_path / "cache",
            "@scope/alpha",
        ]
        (tmp_path / "work").mkdir()
        subprocess.run(npm, cwd=tmp_path / "work", check=True, capture_output=True, timeout=60)
        assert index.files.paths() != []
    assert (tmp_path / "work/node_modules/@scope/alpha/index.js").exists()
    assert (tmp_path / "work/node_modules/beta/index.js").exists()
