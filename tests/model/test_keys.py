"""Which key goes where."""

from __future__ import annotations

from typing import Any

import pytest

from drydock.errors import ModelMissing
from tests.model.asking import KEY, PROVIDERS, house
from tests.standins.model import ModelServer, Step

LOCAL = "openai:qwen3:8b"


@pytest.fixture(autouse=True)
def spoken(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    server.play("x", Step(text="Hello."))
    # What the libraries would read for themselves.
    for variable in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "MISTRAL_API_KEY", "GOOGLE_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.setenv(variable, "of-the-environment")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "token-of-the-environment")
    for variable in ("ANTHROPIC_BASE_URL", "OPENAI_BASE_URL"):
        monkeypatch.setenv(variable, "http://127.0.0.1:9")


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_sealed_secret_is_the_key_where_no_setting_is(server: ModelServer, provider: str) -> None:
    sealed = {f"{provider.upper()}_API_KEY": "sealed-key"}
    house(server, sealed=sealed, **{f"{provider}_api_key": ""}).ask(PROVIDERS[provider])
    house(server, sealed=sealed).ask(PROVIDERS[provider])
    assert [asked.key for asked in server.asked] == ["sealed-key", KEY]
    assert "of-the-environment" not in repr(server.asked)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_an_address_of_its_own_never_gets_the_providers_key(server: ModelServer, provider: str) -> None:
    entry = {"model": PROVIDERS[provider], "address": server.address("x") + "/v1"}
    house(server, models={"mine": entry}).ask("mine")
    assert KEY not in repr(server.asked)
    assert "of-the-environment" not in repr(server.asked)


def test_an_address_gets_the_key_that_its_entry_names(server: ModelServer) -> None:
    entry = {"model": LOCAL, "address": server.address("x") + "/v1", "key": "MINE"}
    house(server, models={"mine": entry}, sealed={"MINE": "my-key"}).ask("mine")
    house(server, models={"mine": {**entry, "key": "OPENAI_API_KEY"}}).ask("mine")
    assert [asked.key for asked in server.asked] == ["my-key", KEY]
    assert isinstance(house(server, models={"mine": entry}).refused("mine"), ModelMissing)


def test_a_server_like_openais_needs_no_key(server: ModelServer) -> None:
    assert house(server, openai_api_key="").ask(LOCAL).text == "Hello."
    assert "of-the-environment" not in repr(server.asked)


def test_an_address_may_end_in_its_version(server: ModelServer) -> None:
    at = server.address("x") + "/v1/"
    told: dict[str, Any] = {f"{provider}_base_url": at for provider in ("anthropic", "mistral", "openai")}
    for provider in ("anthropic", "mistral", "openai"):
        assert house(server, **told).ask(PROVIDERS[provider]).text == "Hello."
