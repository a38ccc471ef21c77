"""Who stands in when a model does not answer, and whose reason is told when nobody does."""

from __future__ import annotations

from drydock.errors import ModelAuth, ModelFailed
from tests.model.asking import PROVIDERS, house
from tests.standins.model import Fault, ModelServer, Step

DOWN = Step(faults=(Fault(status=503),) * 99)
NEXT = PROVIDERS["openai"]


def test_the_next_one_answers_after_three_tries(server: ModelServer) -> None:
    server.play("down", DOWN)
    server.play("up", Step(text="Hello."))
    models = {"best": {"model": PROVIDERS["anthropic"], "fallback": [NEXT]}}
    asked = house(server, "up", models=models, model="best", anthropic_base_url=server.address("down"))
    answer = asked.ask()
    assert (answer.text, answer.model, answer.tries) == ("Hello.", NEXT, 4)
    assert len(server.of("down")) == 3


def test_a_refused_key_or_none_goes_to_the_next_at_once(server: ModelServer) -> None:
    server.play("locked", Step(text="No."), key="another")
    server.play("up", Step(text="Hello."))
    models = {"best": {"model": PROVIDERS["anthropic"], "fallback": [PROVIDERS["mistral"], NEXT]}}
    asked = house(server, "up", models=models, anthropic_base_url=server.address("locked"), mistral_api_key="")
    assert asked.ask("best").tries == 2


def test_the_chain_goes_on_through_fallbacks_of_fallbacks_and_never_in_a_circle(server: ModelServer) -> None:
    server.play("x", DOWN)
    models = {
        "a": {"model": PROVIDERS["anthropic"], "fallback": ["b"]},
        "b": {"model": PROVIDERS["openai"], "fallback": ["c", "a"]},
        "c": {"model": PROVIDERS["mistral"], "fallback": ["b"]},
    }
    failed = house(server, models=models).refused("a")
    assert [asked.body["model"] for asked in server.asked[::3]] == [
        PROVIDERS[each].partition(":")[2] for each in ("anthropic", "openai", "mistral")
    ]
    assert failed.message.count("3 times") == 3


def test_what_may_pass_is_told_before_what_stays(server: ModelServer) -> None:
    server.play("locked", Step(text="No."), key="another")
    server.play("down", DOWN)
    models = {"best": {"model": PROVIDERS["anthropic"], "fallback": [NEXT]}}
    asked = house(server, "down", models=models, anthropic_base_url=server.address("locked"))
    failed = asked.refused("best")
    assert type(failed) is ModelFailed
    assert failed.retryable
    assert "refused the key (401); openai:" in failed.message


def test_with_nothing_that_may_pass_the_first_reason_is_told(server: ModelServer) -> None:
    server.play("locked", Step(text="No."), key="another")
    models = {"best": {"model": PROVIDERS["anthropic"], "fallback": [NEXT]}}
    assert isinstance(house(server, "locked", models=models, openai_api_key="").refused("best"), ModelAuth)
