"""OpenAI's Chat Completions, as many other servers speak it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tests.standins.model.anthropic import answers_before
from tests.standins.model.script import Step

__all__ = ["answers_before", "error", "plain", "stream"]


def has_system(request: Mapping[str, Any]) -> bool:
    return any(message["role"] in ("system", "developer") for message in request["messages"])


def plain(step: Step, request: Mapping[str, Any]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": step.text or None}
    if step.thinking:
        # As vLLM, llama.cpp and DeepSeek tell it.
        message["reasoning_content"] = step.thinking
    if step.tools:
        message["tool_calls"] = _calls(step)
    choice = {"index": 0, "message": message, "finish_reason": _finish(step), "logprobs": None}
    return {**_head(request), "object": "chat.completion", "usage": _usage(step), "choices": [choice]}


def stream(step: Step, request: Mapping[str, Any]) -> Iterator[str]:
    head = {**_head(request), "object": "chat.completion.chunk"}

    def chunk(delta: Mapping[str, Any], finish: str | None = None) -> str:
        choices = [{"index": 0, "delta": delta, "finish_reason": finish}]
        return f"data: {json.dumps({**head, 'choices': choices})}\n\n"

    yield chunk({"role": "assistant", "content": step.text})
    for at, call in enumerate(_calls(step)):
        yield chunk({"tool_calls": [{"index": at, **call}]})
    yield chunk({}, _finish(step))
    yield f"data: {json.dumps({**head, 'choices': [], 'usage': _usage(step)})}\n\n"
    yield "data: [DONE]\n\n"


def error(status: int, text: str) -> dict[str, Any]:
    return {"error": {"message": text, "type": "scripted", "param": None, "code": None}}


def _head(request: Mapping[str, Any]) -> dict[str, Any]:
    return {"id": "chatcmpl-scripted", "created": 1_700_000_000, "model": request["model"]}


def _calls(step: Step) -> list[dict[str, Any]]:
    calls = []
    for at, use in enumerate(step.tools):
        arguments = use.input if isinstance(use.input, str) else json.dumps(use.input)
        function = {"name": use.name, "arguments": arguments}
        calls.append({"id": use.id or f"call{at:05d}", "type": "function", "function": function})
    return calls


def _finish(step: Step) -> str:
    return {"max_tokens": "length"}.get(step.stop, "tool_calls" if step.tools else "stop")


def _usage(step: Step) -> dict[str, Any]:
    """Its input counts the cached tokens, unlike Anthropic's."""
    cached = step.tokens("cache_read_input_tokens")
    given, made = step.tokens("input_tokens") + cached, step.tokens("output_tokens")
    details = {"cached_tokens": cached}
    return {
        "prompt_tokens": given,
        "completion_tokens": made,
        "total_tokens": given + made,
        "prompt_tokens_details": details,
    }
