"""JSON, read strictly and written so that any string survives."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drydock.api.text import HUGE, parse, write
from drydock.errors import Invalid

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(alphabet=st.characters(codec=None)),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(VALUES)
def test_what_is_written_is_read_again_by_anybody(value: Any) -> None:
    assert json.loads(write(value)) == value
    assert b"\n" not in write(value)


@given(st.binary())
def test_any_bytes_are_a_value_or_invalid(raw: bytes) -> None:
    with suppress(Invalid):
        parse(raw)


@pytest.mark.parametrize("raw", [b"", b" ", b"NaN", b"Infinity", b"[1] 2", b"'a'", b"\xff", b'"\n"', b"[" * 100_000])
def test_what_is_not_json_is_invalid(raw: bytes) -> None:
    with pytest.raises(Invalid):
        parse(raw)


def test_huge_integers_stay_huge() -> None:
    assert parse(b"[1" + b"0" * 5000 + b"]") == [HUGE]
    assert parse(b"[-1" + b"0" * 5000 + b"]") == [-HUGE]
    assert parse(b"1" + b"0" * 100) == 10**100


def test_a_lone_surrogate_is_written_as_its_escape() -> None:
    assert write("\ud800") == b'"\\ud800"'
