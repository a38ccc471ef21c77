"""Files on their way in, and back onto the caller's disk from a program, and a server, that may be hostile."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from drydock.cli import bundle
from drydock.errors import Invalid


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def test_a_file_keeps_its_relative_path_as_its_name(here: Path) -> None:
    (here / "data").mkdir()
    (here / "data" / "a.csv").write_bytes(b"1\xff")
    assert bundle.pack(["data/a.csv"]) == {"data/a.csv": b"1\xff"}
    assert bundle.pack(["./data/a.csv"]) == {"data/a.csv": b"1\xff"}


def test_a_file_from_elsewhere_keeps_its_last_name(here: Path) -> None:
    (here.parent / "b.txt").write_bytes(b"b")
    assert bundle.pack(["../b.txt"]) == {"b.txt": b"b"}
    assert bundle.pack([str(here.parent / "b.txt")]) == {"b.txt": b"b"}


def test_a_file_can_be_given_another_name(here: Path) -> None:
    (here / "a").write_bytes(b"a")
    assert bundle.pack(["a=x/y.txt"]) == {"x/y.txt": b"a"}


def test_a_file_whose_own_name_has_an_equals_sign_is_found(here: Path) -> None:
    (here / "a=b").write_bytes(b"ab")
    assert bundle.pack(["a=b"]) == {"a=b": b"ab"}
    assert bundle.pack(["a=b=c"]) == {"c": b"ab"}


def test_a_folder_brings_what_is_below_it_and_follows_no_link(here: Path) -> None:
    (here / "src" / "deep").mkdir(parents=True)
    (here / "src" / "deep" / "x.py").write_bytes(b"x")
    (here / "src" / "link").symlink_to("/etc/hostname")
    os.mkfifo(here / "src" / "pipe")
    assert bundle.pack(["src"]) == {"src/deep/x.py": b"x"}
    assert bundle.pack(["src=lib"]) == {"lib/deep/x.py": b"x"}


def test_the_current_folder_goes_under_its_own_name(here: Path) -> None:
    (here / "a").write_bytes(b"a")
    assert bundle.pack(["."]) == {"here/a": b"a"}


def test_two_files_of_one_name_are_refused(here: Path) -> None:
    (here / "a").write_bytes(b"a")
    (here / "b").write_bytes(b"b")
    with pytest.raises(Invalid, match="two files would be called x"):
        bundle.pack(["a=x", "b=x"])


def test_a_file_that_is_not_there_is_named(here: Path) -> None:
    with pytest.raises(Invalid, match=r"missing\.csv cannot be read: No such file or directory"):
        bundle.pack(["missing.csv"])


def test_files_come_back_in_folders_that_are_made(here: Path) -> None:
    bundle.unpack({"a.txt": b"1", "deep/er/b.bin": b"\0\xff", "deep/c": b""}, here / "out")
    assert (here / "out/a.txt").read_bytes() == b"1"
    assert (here / "out/deep/er/b.bin").read_bytes() == b"\0\xff"
    assert (here / "out/deep/c").read_bytes() == b""
    assert sorted(path.name for path in (here / "out").rglob("*")) == ["a.txt", "b.bin", "c", "deep", "er"]


def test_what_was_there_before_is_replaced(here: Path) -> None:
    (here / "out").mkdir()
    (here / "out/a").write_bytes(b"a longer thing")
    bundle.unpack({"a": b"new"}, here / "out")
    assert (here / "out/a").read_bytes() == b"new"


@pytest.mark.parametrize("name", ["../x", "/x", "", "a/../../x", "a//b", ".", "a/", "./x", "..", "a\0b"])
def test_a_name_that_leads_elsewhere_is_refused_and_nothing_is_written(name: str, here: Path) -> None:
    with pytest.raises(Invalid, match="which is no path below a folder"):
        bundle.unpack({"good": b"1", name: b"2"}, here / "out")
    assert not (here / "out").exists()
    assert not (here / "x").exists()


def test_a_link_in_the_target_is_replaced_and_not_written_through(here: Path) -> None:
    victim = here / "victim"
    victim.write_bytes(b"mine")
    (here / "out").mkdir()
    (here / "out/a").symlink_to(victim)
    bundle.unpack({"a": b"theirs"}, here / "out")
    assert victim.read_bytes() == b"mine"
    assert not (here / "out/a").is_symlink()
    assert (here / "out/a").read_bytes() == b"theirs"


def test_a_hard_link_in_the_target_is_not_written_through(here: Path) -> None:
    victim = here / "victim"
    victim.write_bytes(b"mine")
    (here / "out").mkdir()
    os.link(victim, here / "out/a")
    bundle.unpack({"a": b"theirs"}, here / "out")
    assert victim.read_bytes() == b"mine"


def test_a_folder_that_is_a_link_is_not_entered(here: Path) -> None:
    (here / "away").mkdir()
    (here / "out").mkdir()
    (here / "out/sub").symlink_to(here / "away")
    with pytest.raises(Invalid, match="'sub/a' cannot be written"):
        bundle.unpack({"sub/a": b"theirs"}, here / "out")
    assert list((here / "away").iterdir()) == []


def test_a_pipe_in_the_target_does_not_hang(here: Path) -> None:
    (here / "out").mkdir()
    os.mkfifo(here / "out/a")
    bundle.unpack({"a": b"1"}, here / "out")
    assert (here / "out/a").read_bytes() == b"1"


def test_a_folder_where_a_file_should_go_is_an_error_that_leaves_nothing(here: Path) -> None:
    (here / "out/a").mkdir(parents=True)
    with pytest.raises(Invalid, match="'a' cannot be written"):
        bundle.unpack({"a": b"1"}, here / "out")
    assert [path.name for path in (here / "out").iterdir()] == ["a"]
