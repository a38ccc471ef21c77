"""`[models]` of drydock.toml: what it means, and what an operator reads when it is wrong."""

from __future__ import annotations

from typing import Any

import pytest

from drydock.errors import BadSetting, Invalid, ModelMissing
from drydock.model.catalog import Catalog


def chain(table: dict[str, Any], name: str = "", default: str = "") -> list[str]:
    return [str(model) for model in Catalog(table, default).chain(name)]


def test_a_full_name_needs_no_table() -> None:
    assert chain({}, "openai:qwen3:8b") == ["openai:qwen3:8b"]
    assert chain({}, default="mistral:small") == ["mistral:small"]


def test_an_alias_is_a_line_or_a_table() -> None:
    table = {"fast": "openai:small", "best": {"model": "anthropic:large", "fallback": ["fast", "google:pro"]}}
    assert chain(table, "fast") == ["openai:small"]
    assert chain(table, default="best") == ["anthropic:large", "openai:small", "google:pro"]


def test_no_name_and_no_default_is_a_missing_model() -> None:
    with pytest.raises(ModelMissing):
        chain({})


@pytest.mark.parametrize("name", ["fats", "openai", "openai:", "azure:x", "openai: x", "openai:x\n", ":x", "x" * 999])
def test_a_name_that_is_none_says_what_one_looks_like(name: str) -> None:
    with pytest.raises(Invalid) as caught:
        chain({"fast": "openai:small"}, name)
    assert caught.value.where == "model"
    assert "PROVIDER:NAME" in caught.value.remedy
    assert ("Did you mean fast?" in caught.value.remedy) == (name == "fats")


@pytest.mark.parametrize(
    ("told", "place", "reason"),
    [
        ("small", "fast.model", "PROVIDER:NAME"),
        (7, "fast", "valid dictionary"),
        ({}, "fast.model", "required"),
        ({"model": "openai:x", "price": 1}, "fast.price", "not permitted"),
        ({"model": "openai:x", "input_price": -1}, "fast.input_price", "greater than or equal"),
        ({"model": "openai:x", "address": "ftp://x"}, "fast.address", "http or https"),
        ({"model": "openai:x", "address": "https://user:pass@x/v1"}, "fast.address", "no credential"),
        ({"model": "openai:x", "address": "http://[bad/v1"}, "fast.address", "Invalid"),
        ({"model": "openai:x", "key": "sk-ant-1234"}, "fast.key", "not the key itself"),
        ({"model": "openai:x", "fallback": ["nobody"]}, "fallback of fast", "no model"),
    ],
)
def test_a_wrong_line_stops_the_start_and_shows_no_value(told: Any, place: str, reason: str) -> None:
    with pytest.raises(BadSetting) as caught:
        Catalog({"fast": told})
    assert caught.value.message.startswith(place)
    assert reason in caught.value.message
    assert "pass@" not in caught.value.message
    assert "1234" not in caught.value.message


def test_an_alias_and_a_default_are_names_too() -> None:
    with pytest.raises(BadSetting, match="an alias is"):
        Catalog({"a b": "openai:x"})
    with pytest.raises(BadSetting, match="no model"):
        Catalog({}, "nobody")
