"""The collector against trees that want something of it: whatever they are made of, it brings back files of the folder
and nothing else, within its bounds, and says what it left out."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drydock.box.collect import Bounds, Collected, collect

CANARY = b"outside of the folder"
SWAP = """
import os, sys
os.write(1, b"!")
while True:
    os.rename("real", "aside")
    os.symlink(sys.argv[1], "real")
    os.unlink("real")
    os.rename("aside", "real")
"""
BOUNDS = Bounds(total_bytes=64, files=5, depth=3, skipped=20)
NAMES = st.sampled_from([b"a", b"b", b"c", b"\xff", b"..x", b"-r", b"\n", "é".encode()])
PATHS = st.lists(NAMES, min_size=1, max_size=4).map(b"/".join)
TARGETS = st.sampled_from(
    [b"/etc/passwd", b"/proc/self/environ", b"/proc/self/root", b"..", b"../..", b"../outside", b"a", b".", b"/"]
)
ENTRIES = st.one_of(
    st.tuples(st.just("file"), PATHS, st.binary(max_size=40)),
    st.tuples(st.just("folder"), PATHS, st.just(b"")),
    st.tuples(st.just("link"), PATHS, TARGETS),
    st.tuples(st.just("hard"), PATHS, PATHS),
    st.tuples(st.sampled_from(["pipe", "socket", "sparse", "closed"]), PATHS, st.just(b"")),
)


def make(kind: str, path: bytes, what: bytes) -> None:
    """OSError where there is something already, or where a link made before would lead this very test astray."""
    folder = os.path.dirname(path)
    if os.path.realpath(folder) != os.path.join(os.getcwdb(), folder) or os.path.lexists(path):
        raise FileExistsError(path)
    os.makedirs(folder, exist_ok=True)
    if kind == "file":
        Path(os.fsdecode(path)).write_bytes(what)
    elif kind == "folder":
        os.mkdir(path)
    elif kind == "link":
        os.symlink(what, path)
    elif kind == "hard":
        os.link(b"work/output/" + what, path, follow_symlinks=False)
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as left:
            left.bind(path)
    else:
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o000 if kind == "closed" else 0o644))
        if kind == "sparse":
            os.truncate(path, 1 << 40)


@pytest.fixture
def box(tmp_path: Path) -> Iterator[int]:
    """An open folder as the collector gets it, whose neighbour is a secret."""
    (tmp_path / "box" / "work" / "output").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_bytes(CANARY)
    root = os.open(tmp_path / "box", os.O_RDONLY | os.O_DIRECTORY)
    yield root
    os.close(root)


def judge(found: Collected) -> None:
    assert sum(map(len, found.files.values())) <= BOUNDS.total_bytes
    assert len(found.files) <= BOUNDS.files
    assert len(found.skipped) <= BOUNDS.skipped
    assert list(found.files) == sorted(found.files, key=lambda name: name.split("/"))
    for name, data in found.files.items():
        assert name.count("/") < BOUNDS.depth
        assert not {"", ".", ".."} & set(name.split("/"))
        name.encode()
        assert CANARY not in data
    for name, _ in found.skipped:
        name.encode()


def test_no_tree_leads_the_collector_out_of_its_folder_or_over_its_bounds() -> None:
    home = os.getcwd()
    fds = len(os.listdir("/proc/self/fd"))

    @settings(max_examples=150, deadline=None)
    @given(st.lists(ENTRIES, max_size=12))
    def attack(entries: list[tuple[str, bytes, bytes]]) -> None:
        folder = tempfile.mkdtemp()
        os.chdir(folder)
        try:
            os.makedirs("work/output")
            os.mkdir("work/outside")
            Path("work/outside/secret").write_bytes(CANARY)
            regular = set()
            for kind, path, what in entries:
                try:
                    make(kind, b"work/output/" + path, what)
                except OSError:
                    continue  # a name that is taken, or a parent that is no folder
            for parent, _, names in os.walk("work/output"):
                regular |= {f"{parent}/{name}" for name in names if os.path.isfile(f"{parent}/{name}")}
            root = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
            try:
                found = collect(root, "work/output", BOUNDS)
            finally:
                os.close(root)
            judge(found)
            for name, data in found.files.items():
                assert f"work/output/{name}" in regular
                assert not os.path.islink(f"work/output/{name}")
                assert Path("work/output", name).read_bytes() == data
        finally:
            os.chdir(home)
            shutil.rmtree(folder)

    attack()
    assert len(os.listdir("/proc/self/fd")) == fds, "each folder and file that was opened is closed"


def test_a_tree_that_changes_under_its_hands_does_not_lead_it_out_either(box: int, tmp_path: Path) -> None:
    """A single-use box is empty of processes by then; the folder of a held one may be at work."""
    output = tmp_path / "box" / "work" / "output"
    (output / "real").mkdir()
    (output / "real" / "secret").write_bytes(b"mine")
    swapper = subprocess.Popen([sys.executable, "-c", SWAP, tmp_path / "outside"], cwd=output, stdout=subprocess.PIPE)
    assert swapper.stdout is not None
    try:
        swapper.stdout.read(1)
        seen = [collect(box, "work/output", BOUNDS) for _ in range(20_000)]
    finally:
        swapper.kill()
        swapper.communicate()
    for found in seen:
        judge(found)
    assert len({tuple(found.files) for found in seen}) > 1, "it did change"


@pytest.mark.parametrize("place", ["work/output", "work"])
def test_a_link_in_place_of_the_folder_or_above_it_is_not_followed(box: int, tmp_path: Path, place: str) -> None:
    folder = tmp_path / "box" / place
    shutil.rmtree(folder)
    (tmp_path / "outside" / "output").mkdir()
    (tmp_path / "outside" / "output" / "secret").write_bytes(CANARY)
    folder.symlink_to(tmp_path / "outside" / ("output" if place.endswith("output") else ""))
    found = collect(box, "work/output", BOUNDS)
    assert found.files == {}
    assert found.skipped == [("output", "symlink")]
