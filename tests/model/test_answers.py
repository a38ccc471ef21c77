"""Each provider's wire form, spoken by its own library over a real socket: the same answer out of all of them."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest

from drydock.model.conversation import Message, ToolCall
from tests.model.asking import GO, KEY, PROVIDERS, READ_FILE, house
from tests.standins.model import ModelServer, Step, ToolUse

USE = ToolUse("read_file", {"path": "a.py"}, id="callabcde")


@pytest.mark.parametrize("name", PROVIDERS.values())
def test_plain_text_comes_back_with_what_it_cost(server: ModelServer, name: str) -> None:
    server.play("x", Step(text="Hello.", usage={"input_tokens": 1000, "output_tokens": 20}))
    answer = house(server).ask(name)
    assert (answer.text, answer.calls, answer.model, answer.finish, answer.tries) == ("Hello.", (), name, "stop", 1)
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (1000, 20)
    assert answer.usage.cost_usd is not None
    assert Decimal(0) < answer.usage.cost_usd < Decimal("0.1")
    assert server.asked[0].key == KEY


@pytest.mark.parametrize("name", PROVIDERS.values())
def test_tool_calls_are_native_and_their_results_find_back(server: ModelServer, name: str) -> None:
    server.play("x", Step(text="I look.", tools=(USE,)), Step(text="It is empty."))
    asked = house(server)
    first = asked.ask(name, tools=[READ_FILE])
    [call] = first.calls
    assert (first.text, call.name, call.arguments) == ("I look.", "read_file", {"path": "a.py"})
    assert "read_file" in json.dumps(server.asked[0].body["tools"])
    said = [*GO, Message("assistant", first.text, first.calls, raw=first.raw), Message("tool", "", call_id=call.id)]
    assert asked.ask(name, said, [READ_FILE]).text == "It is empty."


@pytest.mark.parametrize("provider", ["anthropic", "openai", "google"])
def test_thinking_is_kept_apart_from_the_text(server: ModelServer, provider: str) -> None:
    server.play("x", Step(thinking="Hm.", text="Hello."))
    answer = house(server).ask(PROVIDERS[provider])
    assert (answer.thinking, answer.text) == ("Hm.", "Hello.")


def test_signed_thinking_goes_back_as_it_came_even_through_a_record(server: ModelServer) -> None:
    server.play("x", Step(thinking="Hm.", tools=(USE,)), Step(text="Done."))
    asked = house(server)
    first = asked.ask(PROVIDERS["anthropic"], tools=[READ_FILE])
    raw = json.loads(json.dumps(first.raw))
    said = [*GO, Message("assistant", "", first.calls, raw=raw), Message("tool", "x", call_id=USE.id)]
    asked.ask(PROVIDERS["anthropic"], said, [READ_FILE])
    [thinking, _] = server.asked[1].body["messages"][1]["content"]
    assert thinking == {"type": "thinking", "thinking": "Hm.", "signature": "c2lnbmVk"}


def test_an_answer_without_its_record_is_told_in_plain_words(server: ModelServer) -> None:
    server.play("x", Step(), Step(text="Done."))
    call = ToolCall("callabcde", "read_file", {"path": "a.py"})
    old = Message("assistant", "I look.", (call,), raw={"kind": "of another version"})
    house(server).ask(PROVIDERS["openai"], [*GO, old, Message("tool", "x", call_id=call.id)])
    [_, _, told, result] = server.asked[0].body["messages"]
    assert told["content"] == "I look."
    assert json.loads(told["tool_calls"][0]["function"]["arguments"]) == {"path": "a.py"}
    assert (result["role"], result["tool_call_id"], result["content"]) == ("tool", call.id, "x")


def test_a_record_of_one_provider_can_be_told_to_another(server: ModelServer) -> None:
    server.play("x", Step(thinking="Hm.", tools=(USE,)), Step(text="Done."))
    asked = house(server)
    first = asked.ask(PROVIDERS["anthropic"], tools=[READ_FILE])
    said = [*GO, Message("assistant", "", first.calls, raw=first.raw), Message("tool", "x", call_id=USE.id)]
    for provider in ("openai", "mistral", "google"):
        assert asked.ask(PROVIDERS[provider], said, [READ_FILE]).text == "Done."


def test_arguments_that_are_no_object_are_given_as_they_came(server: ModelServer) -> None:
    server.play("x", Step(tools=(ToolUse("read_file", '{"path": '), ToolUse("read_file", "[1]"))))
    calls = house(server).ask(PROVIDERS["openai"], tools=[READ_FILE]).calls
    assert [call.arguments for call in calls] == ['{"path": ', "[1]"]


def test_an_answer_that_was_cut_off_says_so(server: ModelServer) -> None:
    server.play("x", Step(text="Once upon", stop="max_tokens"))
    for name in PROVIDERS.values():
        assert house(server).ask(name).finish == "length"


def test_a_model_that_calls_no_tools_is_offered_none(server: ModelServer) -> None:
    server.play("x", Step(text='{"action": "finish"}'))
    asked = house(server, models={"plain": {"model": PROVIDERS["openai"], "tools": False}})
    asked.ask("plain", tools=[READ_FILE])
    assert not server.asked[0].body.get("tools")
