"""`drydock run` on a folder of the caller's own: its HEAD goes out, a branch comes back, nothing else is touched."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.e2e.conftest import DRYDOCK, own_environment
from tests.e2e.runs.world import MENDS, SUMS, Life, World, use
from tests.standins.forge import Forge, git
from tests.standins.index import Index
from tests.standins.model import ModelServer

Done = subprocess.CompletedProcess[str]
OURS = (".git/objects", ".git/refs/heads/drydock", ".git/logs/refs/heads/drydock")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with Forge() as forge, ModelServer() as model, Index() as index, ExitStack() as owned:
        yield World(tmp_path_factory.mktemp("here"), forge, model, index, owned)


@pytest.fixture(scope="module")
def life(world: World) -> Life:
    (world.folder / "allowed").mkdir()
    return world.life(DRYDOCK_GIT_FOLDERS=str(world.folder / "allowed"))


@pytest.fixture
def mine(world: World, request: pytest.FixtureRequest) -> Path:
    """Checked out, with one change that is staged, one that is not, and a file that git does not know."""
    folder = world.folder / "allowed" / hashlib.sha256(request.node.name.encode()).hexdigest()[:8]
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    for name, content in SUMS.items():
        (folder / name).write_bytes(content)
    git(folder, "add", "-A")
    git(folder, "-c", "user.name=Me", "-c", "user.email=me@localhost", "commit", "-q", "-m", "Sums")
    (folder / "README.md").write_text("# Staged\n")
    git(folder, "add", "README.md")
    (folder / "sums.py").write_text("# half done\n")
    (folder / "notes").write_text("mine\n")
    return folder


def drydock(life: Life, folder: Path, *arguments: str, **variables: str) -> Done:
    environment = own_environment() | {"DRYDOCK_URL": str(life.client.base_url)} | variables
    return subprocess.run(
        [DRYDOCK, "run", *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=120
    )


def state(folder: Path) -> dict[str, bytes]:
    """The working tree and all of git's own but its objects and the branches of runs."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not path.relative_to(folder).as_posix().startswith(OURS)
    }


def test_the_commit_lands_as_a_branch_beside_work_that_is_not_touched(world: World, life: Life, mine: Path) -> None:
    before = state(mine)
    model = world.script(*MENDS)["model"]
    done = drydock(life, mine, "Fix add", "--repo", ".", "--commit", "--type", "bug-fix", "--model", model)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "drydock: 3 changes are not committed, and the run does not see them" in done.stderr
    run = done.stdout.split()[1]
    branch = f"drydock/run-{run}"
    assert f"is on the new branch {branch}" in done.stderr
    assert git(mine, "show", f"{branch}:sums.py") == b"def add(a, b):\n    return a + b\n"
    assert git(mine, "rev-parse", f"{branch}^") == git(mine, "rev-parse", "main")
    assert git(mine, "rev-parse", branch).decode().strip() == life.show(run)["result"]["commit"]["sha"]
    assert state(mine) == before


def test_without_a_commit_the_change_waits_to_be_taken(world: World, life: Life, mine: Path, tmp_path: Path) -> None:
    before = state(mine)
    told = ("--type", "bug-fix", "--model", world.script(*MENDS)["model"], "--patch", str(tmp_path / "out.patch"))
    done = drydock(life, mine, "Fix add", "--repo", ".", *told)
    assert done.returncode == 0, done.stdout + done.stderr
    assert state(mine) == before
    git(mine, "stash", "-q")
    git(mine, "apply", str(tmp_path / "out.patch"))
    assert (mine / "sums.py").read_bytes() == b"def add(a, b):\n    return a + b\n"


def test_a_gate_that_fails_is_told_and_lands_nothing(world: World, life: Life, mine: Path) -> None:
    wrong = use("edit_file", path="sums.py", old="a - b", new="a * b")
    model = world.script(wrong, *(use("finish", summary=text) for text in ("Done.", "Really.", "It is.")))["model"]
    done = drydock(life, mine, "Fix add", "--repo", ".", "--commit", "--type", "bug-fix", "--model", model)
    assert done.returncode == 3, done.stdout + done.stderr
    assert "commit   withheld: Nothing was committed: the quality gate failed." in done.stdout
    assert git(mine, "branch", "--list", "drydock/*") == b""


def test_another_commit_than_head_can_be_begun_from(world: World, life: Life, mine: Path) -> None:
    git(mine, "-c", "user.name=Me", "-c", "user.email=me@localhost", "commit", "-q", "--allow-empty", "-m", "Later")
    told = ("--repo", ".", "--branch", "HEAD~1", "--commit", "--type", "bug-fix")
    done = drydock(life, mine, "Fix add", *told, "--model", world.script(*MENDS)["model"])
    assert done.returncode == 0, done.stdout + done.stderr
    branch = f"drydock/run-{done.stdout.split()[1]}"
    assert git(mine, "rev-parse", f"{branch}^") == git(mine, "rev-parse", "HEAD~1")
    unknown = drydock(life, mine, "Fix add", "--repo", ".", "--branch", "--output=x")
    assert unknown.stderr.startswith("drydock: . has no commit --output=x\n")


def test_with_the_forges_token_a_branch_is_pushed(world: World, life: Life, tmp_path: Path) -> None:
    bare = world.repository()
    model = world.script(*MENDS)["model"]
    told = ("--repo", "acme/sums", "--commit", "--type", "bug-fix", "--model", model)
    done = drydock(life, tmp_path, "Fix add", *told, DRYDOCK_FORGE_TOKEN=world.token)
    assert done.returncode == 0, done.stdout + done.stderr
    branch = f"drydock/run-{done.stdout.split()[1]}"
    assert done.stderr == f"drydock: pushed to {branch}\n"
    assert bare.files(bare.find(branch))["sums.py"] == b"def add(a, b):\n    return a + b\n"


@pytest.mark.parametrize(
    ("repo", "said"),
    [
        ("./none", "there is no folder ./none"),
        ("..", ".. is in no git repository"),
    ],
)
def test_a_folder_that_is_no_repository_is_refused_here(life: Life, tmp_path: Path, repo: str, said: str) -> None:
    (tmp_path / "below").mkdir()
    done = drydock(life, tmp_path / "below", "x", "--repo", repo)
    assert (done.returncode, done.stdout) == (125, "")
    assert done.stderr.startswith(f"drydock: {said}\n  ")


def test_a_folder_that_the_server_may_not_read_is_refused_with_the_setting_to_change(
    life: Life, mine: Path, tmp_path: Path
) -> None:
    git(tmp_path, "clone", "-q", str(mine), "mine")
    done = drydock(life, tmp_path / "mine", "x", "--repo", ".")
    assert (done.returncode, done.stdout) == (125, "")
    assert "DRYDOCK_GIT_FOLDERS" in done.stderr
    elsewhere = drydock(life, mine, "x", "--repo", ".", "--url", "http://drydock.example:8080")
    assert "is not on this machine and cannot read" in elsewhere.stderr
