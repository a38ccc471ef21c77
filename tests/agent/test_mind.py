"""The agent's model is one of [models], asked over a real socket; what it answers survives a record."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from drydock.agent.mind import NamedMind, answer_from_json, answer_to_json
from drydock.errors import Invalid, ModelFailed
from drydock.model.conversation import Answer, Message, Tool
from drydock.model.models import Models
from drydock.settings import Settings
from tests.standins.model import Fault, ModelServer, Step, ToolUse

BEST = "anthropic:claude-sonnet-4-6"
TABLE: dict[str, Any] = {"best": {"model": BEST, "fallback": ["plain"]}, "plain": {"model": "openai:gpt-4o"}}
READ_FILE = Tool("read_file", "Reads.", {"type": "object", "properties": {"path": {"type": "string"}}})
GO = [Message("system", "Be brief."), Message("user", "Go.")]


def sealed(name: str) -> None:
    """No secret is."""


def models(address: str) -> Models:
    return Models(Settings(models=TABLE, model="best", anthropic_api_key="a-key", anthropic_base_url=address), sealed)


def test_a_conversation_goes_on_from_its_record() -> None:
    async def talk(address: str) -> tuple[Answer, Answer]:
        mind = NamedMind(models(address), "")
        first = await mind.answer(GO, [READ_FILE])
        kept = answer_from_json(json.loads(json.dumps(answer_to_json(first))))
        said = Message("assistant", kept.text, kept.calls, raw=kept.raw)
        return first, await mind.answer([*GO, said, Message("tool", "x = 1", call_id=kept.calls[0].id)], [READ_FILE])

    with ModelServer() as server:
        use = ToolUse("read_file", {"path": "a.py"})
        address = server.play("x", Step(thinking="Hm.", text="I look.", tools=(use,)), Step(text="x is 1."))
        first, second = asyncio.run(talk(address))
        [call] = first.calls
        assert (first.text, first.thinking, call.name, call.arguments) == ("I look.", "Hm.", "read_file", use.input)
        assert (first.model, first.usage.input_tokens, first.usage.output_tokens) == (BEST, 100, 10)
        assert first.usage.cost_usd is not None
        assert first.usage.cost_usd > 0
        assert second.text == "x is 1."
        assert [block["type"] for block in server.asked[1].body["messages"][1]["content"]] == [
            "thinking",
            "text",
            "tool_use",
        ]


def test_a_model_that_does_not_answer_is_one_error_that_says_whether_later_helps() -> None:
    with ModelServer() as server:
        mind = NamedMind(models(server.play("x", Step(faults=(Fault(status=500),) * 3))), "")
        with pytest.raises(ModelFailed) as caught:
            asyncio.run(mind.answer(GO, ()))
    assert caught.value.retryable


def test_a_name_that_is_none_is_refused_before_anything_is_asked() -> None:
    with pytest.raises(Invalid):
        NamedMind(models("http://127.0.0.1:9"), "nobody")


def test_a_chain_calls_tools_natively_only_if_all_of_it_does() -> None:
    plain = {**TABLE, "plain": {"model": "openai:gpt-4o", "tools": False}}
    told = Models(Settings(models=plain, anthropic_api_key="a-key"), sealed)
    assert not NamedMind(told, "best").native_tools
    assert NamedMind(told, "openai:gpt-4o").native_tools
