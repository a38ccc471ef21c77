"""The tools that read and change files, in a real box."""

from __future__ import annotations

from dataclasses import replace

from tests.agent.conftest import TASK, Rig


def shell(rig: Rig, text: str) -> None:
    assert rig.fleet.run(rig.site.run(["/bin/sh", "-c", text], timeout_s=10)).ok


def test_a_file_is_read_and_the_event_says_what_was_asked_for(rig: Rig) -> None:
    said = rig.do("read_file", path="sums.py")
    assert said == "File: sums.py\nLines 1 to 2\n```\ndef add(a, b):\n    return a - b\n```"
    [event] = rig.book.of("file_read")
    assert (event["path"], event["startLine"], event["endLine"], event["truncated"]) == ("sums.py", 1, 240, False)


def test_at_most_240_lines_are_read_at_once(rig: Rig) -> None:
    shell(rig, "seq 1 1000 > long")
    said = rig.do("read_file", path="long", startLine=100, endLine=900)
    assert "Lines 100 to 339\nCut: the file has 1000 lines." in said
    assert "\n100\n" in said
    assert "\n339\n" in said
    assert "\n340\n" not in said
    assert rig.book.of("file_read")[0]["truncated"] is True


def test_a_long_text_keeps_head_and_tail(rig: Rig) -> None:
    shell(rig, "for i in $(seq 100 300); do printf '%s%090d\\n' $i 0; done > wide")
    said = rig.do("read_file", path="wide", endLine=200)
    assert "characters left out" in said
    assert "\n1000000" in said
    assert "\n2990000" in said


REFUSED = {
    "/etc/passwd": "absolute",
    "../x": "`..`",
    "a/./b": "`.`",
    "x" * 261: "260",
    "no-such": "no such file",
    "tests": "a folder",
    "out": "out of the repository",
    "inner/passwd": "out of the repository",
    "pipe": "neither a file nor a folder",
    "binary": "not a text file",
}


def test_a_path_that_is_refused_is_an_observation(rig: Rig) -> None:
    shell(rig, "ln -s /etc/passwd out; ln -s /etc inner; mkfifo pipe; printf 'a\\0b' > binary")
    for path, why in REFUSED.items():
        said = rig.do("read_file", path=path)
        assert why in said
        assert "It was not read" in said
        assert why in rig.book.of("file_read")[-1]["error"]


def test_quotes_and_backslashes_of_a_path_are_forgiven(rig: Rig) -> None:
    assert "def test_add" in rig.do("read_file", path=" `tests\\test_sums.py` ")


def test_several_files_are_read_at_once_and_a_missing_one_does_not_stop_the_others(rig: Rig) -> None:
    said = rig.do("read_files", files=["sums.py", {"path": "README.md", "startLine": 3}, "gone"])
    assert "return a - b" in said
    assert "# Sums" not in said
    assert "Adds numbers." in said
    assert "no such file" in said
    assert len(rig.book.of("file_read")) == 3


def test_a_text_with_a_fence_cannot_end_its_own(rig: Rig) -> None:
    shell(rig, "printf 'a\\n```\\nobey\\n' > f")
    assert rig.do("read_file", path="f").endswith("````\na\n```\nobey\n````")


def test_search_finds_lines_and_leaves_out_what_is_built(rig: Rig) -> None:
    shell(rig, "mkdir node_modules; echo 'def add' > node_modules/x.js; echo 'DEF ADD' > notes.txt")
    assert "sums.py:1: def add(a, b):" in rig.do("search", pattern="def add")
    said = rig.do("search", pattern="def add")
    assert "notes.txt:1: DEF ADD" in said
    assert "node_modules" not in said
    assert "notes.txt" not in rig.do("search", pattern="def add", case=True)
    assert "tests/test_sums.py:4: def test_add" in rig.do("search", pattern=r"def \w+_add", regex=True)
    assert "sums.py:" not in rig.do("search", pattern="def", glob="*.txt")
    assert rig.do("search", pattern="nowhere").endswith("No line matches.")
    assert "no regular expression" in rig.do("search", pattern="(", regex=True)


def test_a_file_is_written_and_its_folders_are_made(rig: Rig) -> None:
    rig.do("write_file", path="a/b/c.txt", content="one\n")
    assert rig.contents("a/b/c.txt") == "one\n"
    rig.do("write_file", path="a/b/c.txt", content="")
    assert rig.contents("a/b/c.txt") == ""
    assert "just that already" in rig.do("write_file", path="a/b/c.txt", content="")
    told = [(event["path"], event["changeType"]) for event in rig.book.of("file_changed")]
    assert told == [("a/b/c.txt", "created"), ("a/b/c.txt", "modified")]
    assert rig.book.changes == 3


def test_a_write_through_a_link_out_of_the_repository_is_refused(rig: Rig) -> None:
    shell(rig, "ln -s /box/home/x out; ln -s /box/home dir")
    for path in ("out", "dir/x"):
        assert "out of the repository" in rig.do("write_file", path=path, content="x")
    shell(rig, "test ! -e /box/home/x")


def test_an_edit_replaces_exactly_one_place(rig: Rig) -> None:
    assert "at line 2" in rig.do("edit_file", path="sums.py", old="a - b", new="a + b")
    assert rig.contents("sums.py") == "def add(a, b):\n    return a + b\n"


INEXACT = {
    ("a * b", "x"): "is not in it",
    ("a", "x"): "occurs 3 times (at lines 1, 1, 2)",
    ("a - b", "a - b"): "are the same",
    ("def add(a, b):\n  return a - b", "x"): "Its first line stands at line 1",
}


def test_an_edit_that_is_not_exact_changes_nothing_and_says_why(rig: Rig) -> None:
    before = rig.contents("sums.py")
    for (old, new), why in INEXACT.items():
        assert why in rig.do("edit_file", path="sums.py", old=old, new=new)
    assert rig.contents("sums.py") == before
    assert rig.book.of("file_changed") == []


def test_an_edit_of_all_places_and_of_lines_that_end_in_crlf(rig: Rig) -> None:
    shell(rig, "printf 'a = 1\\r\\nb = a\\r\\n' > crlf; printf 'x\\377x' > latin")
    rig.do("edit_file", path="crlf", old="a = 1\nb", new="c = 1\nb")
    assert rig.contents("crlf") == "c = 1\r\nb = a\r\n"
    assert "Replaced 2" in rig.do("edit_file", path="latin", old="x", new="y", all=True)
    assert rig.fleet.run(rig.site.run(["cat", "latin"], timeout_s=5)).stdout == b"y\xffy"


def test_a_task_that_changes_nothing_writes_nothing(rig: Rig) -> None:
    rig.trust(type="code-review")
    assert "this task changes nothing" in rig.do("write_file", path="x", content="x")
    assert "this task changes nothing" in rig.do("edit_file", path="sums.py", old="-", new="+")


def test_a_test_suite_that_may_generate_tests_writes_tests_only(rig: Rig) -> None:
    rig.use(replace(TASK, type="test-suite", generate_tests=True))
    assert "only test files" in rig.do("write_file", path="sums.py", content="x")
    assert "Created" in rig.do("write_file", path="tests/test_more.py", content="x = 1\n")
