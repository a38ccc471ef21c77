"""Paths and methods."""

from __future__ import annotations

import pytest

from drydock.api.router import _params


@pytest.mark.parametrize(
    ("pattern", "path", "params"),
    [
        ("/a/{id}", "/a/x", {"id": "x"}),
        ("/a/{id}", "/a/", None),
        ("/a/{id}", "/a", None),
        ("/a/{id}", "/a/x/", None),
        ("/a/{id}", "/b/x", None),
        ("/a/{id}/f/{rest*}", "/a/x/f/y/z", {"id": "x", "rest": "y/z"}),
        ("/a/{id}/f/{rest*}", "/a/x/f/", None),
        ("/a/{id}/f/{rest*}", "/a//f/y", None),
    ],
)
def test_a_pattern_matches_whole_segments(pattern: str, path: str, params: dict[str, str] | None) -> None:
    assert _params(pattern.split("/"), path.split("/")) == params
