"""What a call cost: told prices, published ones, or unknown."""

from __future__ import annotations

from decimal import Decimal

from drydock.model.usage import Usage
from tests.model.asking import PROVIDERS, house
from tests.standins.model import ModelServer, Step

USED = {"input_tokens": 1000, "output_tokens": 100, "cache_read_input_tokens": 4000}


def cost(server: ModelServer, name: str, **told: object) -> Decimal | None:
    server.play("x", Step(text="Hello.", usage=USED))
    return house(server, models={"mine": {"model": name, **told}}).ask("mine").usage.cost_usd


def test_told_prices_count_cached_tokens_apart(server: ModelServer) -> None:
    prices = {"input_price": "2", "output_price": "10", "cache_read_price": "0.2"}
    for name in PROVIDERS.values():
        assert cost(server, name, **prices) == Decimal("0.0038")


def test_a_cache_price_that_is_not_told_is_the_inputs(server: ModelServer) -> None:
    assert cost(server, PROVIDERS["openai"], input_price=2) == Decimal("0.01")


def test_tokens_written_to_the_cache_have_their_price(server: ModelServer) -> None:
    server.play("x", Step(text="Hello.", usage={**USED, "cache_creation_input_tokens": 2000}))
    entry = {"model": PROVIDERS["anthropic"], "input_price": 2, "cache_read_price": 0, "cache_write_price": 2.5}
    usage = house(server, models={"mine": entry}).ask("mine").usage
    assert usage == Usage(7000, 100, 4000, 2000, Decimal("0.007"))


def test_an_unknown_model_or_address_has_no_price_rather_than_none_to_pay(server: ModelServer) -> None:
    assert cost(server, "openai:home-grown") is None
    assert cost(server, PROVIDERS["openai"], address=server.address("x") + "/v1") is None


def test_published_prices_are_those_of_the_provider(server: ModelServer) -> None:
    # 1000 at 2.50, 4000 cached at 1.25, 100 out at 10 dollars a million.
    assert cost(server, PROVIDERS["openai"]) == Decimal("0.0085")


def test_a_sum_with_an_unknown_part_is_unknown() -> None:
    known, unknown = Usage(1, 2, 3, 4, Decimal("0.1")), Usage(1, 1, 1, 1, None)
    assert known + known == Usage(2, 4, 6, 8, Decimal("0.2"))
    assert (known + unknown).cost_usd is None
