"""What goes wrong at a provider, tried again or not, and what is told when nothing helped."""

from __future__ import annotations

import pytest

from drydock.errors import ModelAuth, ModelBadAnswer, ModelFailed, ModelMissing, ModelRateLimited
from tests.model.asking import KEY, PROVIDERS, house
from tests.standins.model import Fault, ModelServer, Step

NAMES = PROVIDERS.values()
RETRIED = (408, 409, 425, 429, 500, 502, 503, 504, 529)
FINAL = (400, 402, 404, 413, 422)
GONE = Fault("reset")


@pytest.mark.parametrize("status", RETRIED)
@pytest.mark.parametrize("name", NAMES)
def test_a_status_that_passes_is_tried_again(server: ModelServer, name: str, status: int) -> None:
    server.play("x", Step(text="Hello.", faults=(Fault(status=status), Fault(status=status))))
    asked = house(server)
    answer = asked.ask(name)
    assert (answer.text, answer.tries, len(server.asked)) == ("Hello.", 3, 3)
    [first, second] = asked.waits
    assert 0.5 <= first < 0.625
    assert 1.0 <= second < 1.125


@pytest.mark.parametrize("status", FINAL)
@pytest.mark.parametrize("name", NAMES)
def test_a_status_that_stays_is_not(server: ModelServer, name: str, status: int) -> None:
    server.play("x", Step(faults=(Fault(status=status),) * 9))
    asked = house(server)
    failed = asked.refused(name)
    assert (failed.code, failed.retryable, len(server.asked), asked.waits) == ("model_error", False, 1, [])
    assert f"{name} answered {status}: scripted failure" in failed.message


@pytest.mark.parametrize("kind", ["reset", "cut", "garbage", "shape", "empty", "endless", "packed"])
@pytest.mark.parametrize("name", NAMES)
def test_the_network_and_answers_that_are_none_are_tried_again(server: ModelServer, name: str, kind: str) -> None:
    fault = Fault(kind)  # type: ignore[arg-type]
    server.play("x", Step(text="Hello.", faults=(fault, fault)))
    answer = house(server).ask(name)
    assert (answer.text, len(server.asked)) == ("Hello.", 3)


@pytest.mark.parametrize("name", NAMES)
def test_three_tries_are_all(server: ModelServer, name: str) -> None:
    server.play("x", Step(text="Too late.", faults=(Fault(status=503),) * 3))
    failed = house(server).refused(name)
    assert type(failed) is ModelFailed
    assert (failed.retryable, len(server.asked)) == (True, 3)
    assert failed.message == f"No model answered: {name} answered 503: scripted failure, 3 times."


@pytest.mark.parametrize("name", NAMES)
def test_empty_answers_end_as_a_bad_one_whose_kind_is_told(server: ModelServer, name: str) -> None:
    server.play("x", Step(faults=(Fault("empty"),) * 3))
    failed = house(server).refused(name)
    assert isinstance(failed, ModelBadAnswer)
    assert failed.retryable


@pytest.mark.parametrize("name", NAMES)
def test_garbage_ends_as_a_bad_answer(server: ModelServer, name: str) -> None:
    server.play("x", Step(faults=(Fault("garbage"),) * 3))
    assert isinstance(house(server).refused(name), ModelBadAnswer)


@pytest.mark.parametrize("name", NAMES)
def test_nobody_listening_is_a_failure_of_the_network(server: ModelServer, name: str) -> None:
    server.play("x", Step(faults=(GONE,) * 3))
    failed = house(server).refused(name)
    assert type(failed) is ModelFailed
    assert (failed.retryable, "could not be reached" in failed.message) == (True, True)


def test_tokens_of_empty_answers_are_counted_with_the_one_that_came(server: ModelServer) -> None:
    usage = {"input_tokens": 100, "output_tokens": 5}
    server.play("x", Step(text="Hello.", usage=usage, faults=(Fault("empty"),)))
    answer = house(server).ask(PROVIDERS["openai"])
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (200, 10)


@pytest.mark.parametrize("name", NAMES)
def test_a_provider_says_how_long_to_wait(server: ModelServer, name: str) -> None:
    server.play("x", Step(text="Hello.", faults=(Fault(status=429, headers={"retry-after": "7"}),)))
    asked = house(server)
    assert asked.ask(name).text == "Hello."
    assert asked.waits == [7.0]


@pytest.mark.parametrize("name", NAMES)
def test_a_wait_that_is_too_long_is_told_not_waited(server: ModelServer, name: str) -> None:
    server.play("x", Step(faults=(Fault(status=429, headers={"retry-after": "3600"}),)))
    asked = house(server)
    failed = asked.refused(name)
    assert isinstance(failed, ModelRateLimited)
    assert (failed.retryable, failed.retry_after, len(server.asked), asked.waits) == (True, 3600.0, 1, [])


def test_a_model_that_says_nothing_is_given_up_in_time(server: ModelServer) -> None:
    server.play("x", Step(faults=(Fault("slow"),) * 12))
    for name in NAMES:
        failed = house(server, model_timeout=0.2).refused(name)
        assert "did not answer in time, 3 times" in failed.message
        assert failed.retryable


@pytest.mark.parametrize("name", NAMES)
def test_a_key_that_is_refused_is_not_repeated(server: ModelServer, name: str) -> None:
    server.play("x", Step(text="Hello."), key="another")
    failed = house(server).refused(name)
    assert isinstance(failed, ModelAuth)
    assert (failed.retryable, len(server.asked)) == (False, 1)
    assert KEY not in repr(vars(failed)) + str(failed)
    assert (failed.__cause__, failed.__suppress_context__ or failed.__context__) == (None, None)


@pytest.mark.parametrize("name", NAMES)
def test_a_key_that_an_answer_repeats_is_cut_out(server: ModelServer, name: str) -> None:
    body = f'{{"error": {{"message": "bad {KEY} in  {"x" * 999}"}}, "message": "bad {KEY}"}}'
    server.play("x", Step(faults=(Fault(status=400, body=body),)))
    failed = house(server).refused(name)
    assert KEY not in failed.message
    assert len(failed.message) < 400


def test_without_a_key_nothing_is_asked(server: ModelServer) -> None:
    failed = house(server, anthropic_api_key="").refused(PROVIDERS["anthropic"])
    assert isinstance(failed, ModelMissing)
    assert (failed.message, server.asked) == (f"No model answered: {PROVIDERS['anthropic']} has no key.", [])
    assert "drydock secrets set ANTHROPIC_API_KEY" in failed.remedy


def test_without_a_model_nothing_is_asked(server: ModelServer) -> None:
    assert isinstance(house(server).refused(), ModelMissing)
