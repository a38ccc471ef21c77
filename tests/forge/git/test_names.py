"""Paths that a repository must not hold, as each system that it may be checked out on would read them."""

from __future__ import annotations

import pytest

from drydock.forge.git.names import wrong_with


@pytest.mark.parametrize(
    "name",
    [
        b".git",
        b".GIT",
        b".Git",
        b"git~1",
        b"GIT~1",
        b"git~12",
        b".git ",
        b".git.",
        b".git . .",
        b".git::$INDEX_ALLOCATION",
        b".git:x",
        "\u200c.git".encode(),
        ".g\u200dit".encode(),
        ".git\ufeff".encode(),
        b"a\\.git",
        b".git\\config",
    ],
)
def test_every_spelling_of_git_is_reserved(name: bytes) -> None:
    assert wrong_with(b"some/where/" + name, link=False) == "reserved_name"


@pytest.mark.parametrize(
    "name", [b".gitignore", b".gitmodules", b".github", b"git", b".git2", b"a.git", b"git~", b"x~1"]
)
def test_names_that_only_look_like_it_are_taken(name: bytes) -> None:
    assert wrong_with(name, link=False) is None


@pytest.mark.parametrize(
    "name", [b".gitmodules", b".GITMODULES", b".gitattributes", b"gitmod~1", b"GI7EBA~1", b".mailmap"]
)
def test_what_git_itself_reads_is_no_link(name: bytes) -> None:
    assert wrong_with(name, link=True) == "reserved_name"


@pytest.mark.parametrize("name", [b"a\nb", b"a\x1b[31m", b"\x7f", b"a\tb"])
def test_a_control_character_is_left_out(name: bytes) -> None:
    assert wrong_with(name, link=False) == "control_character"


def test_what_is_too_long_or_too_deep_is_left_out() -> None:
    assert wrong_with(b"/".join([b"a" * 250] * 17), link=False) == "too_long"
    assert wrong_with(b"/".join([b"a"] * 130), link=False) == "too_deep"


@pytest.mark.parametrize("name", [b"\xff\xfe", "ü".encode(), b" a ", b"-rf", b"a\\b"])
def test_odd_names_that_harm_nobody_are_taken(name: bytes) -> None:
    assert wrong_with(name, link=False) is None
