"""Our values to pydantic-ai's and back. Imported where a model is really asked, since it imports that library."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from pydantic import ValidationError
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from drydock.model.conversation import Answer, Message, Tool, ToolCall
from drydock.model.usage import Usage

Finish = Literal["stop", "length", "tools", "refused", "unknown"]
FINISH: Mapping[str | None, Finish] = {
    "stop": "stop",
    "length": "length",
    "tool_call": "tools",
    "content_filter": "refused",
}
WHOLE: Sequence[Literal["max_tokens", "top_k"]] = ("max_tokens", "top_k")
NUMBERS: Sequence[Literal["temperature", "top_p", "presence_penalty", "frequency_penalty"]] = (
    "temperature",
    "top_p",
    "presence_penalty",
    "frequency_penalty",
)
EFFORTS = ("minimal", "low", "medium", "high", "xhigh")
NO_PARAMETERS = {"type": "object", "properties": {}}


def settings(timeout: float, told: Mapping[str, Any]) -> ModelSettings:
    """Tries are ours to count; and an agent sends its whole conversation each turn, which a cache makes cheap.

    Of what a run's owner told, only what is known here is passed on: the library's settings can name headers too.
    """
    chosen = ModelSettings(max_retries=0, timeout=timeout, request_timeout=timeout, cache=True)
    for name in WHOLE:
        if isinstance(told.get(name), int) and not isinstance(told[name], bool):
            chosen[name] = told[name]
    for number in NUMBERS:
        if isinstance(told.get(number), int | float) and not isinstance(told[number], bool):
            chosen[number] = told[number]
    reasoning = told.get("reasoning")
    effort = told.get("reasoning_effort") or (reasoning.get("effort") if isinstance(reasoning, Mapping) else None)
    if effort in EFFORTS:
        chosen["thinking"] = effort
    return chosen


def parameters(tools: Iterable[Tool]) -> ModelRequestParameters:
    definitions = [
        ToolDefinition(
            name=tool.name,
            description=tool.description,
            parameters_json_schema=dict(tool.parameters) or NO_PARAMETERS,
        )
        for tool in tools
    ]
    return ModelRequestParameters(function_tools=definitions, allow_text_output=True)


def messages(conversation: Sequence[Message]) -> list[ModelMessage]:
    """What lies between two answers becomes one request, as every provider wants it."""
    names = {call.id: call.name for message in conversation for call in message.calls}
    told: list[ModelMessage] = []
    between: list[ModelRequestPart] = []
    for message in conversation:
        if message.role != "assistant":
            between.append(_part(message, names))
            continue
        if between:
            told.append(ModelRequest(parts=between))
            between = []
        told.append(_said_before(message))
    if between:
        told.append(ModelRequest(parts=between))
    return told


def answer(response: ModelResponse, model: str, usage: Usage, tries: int) -> Answer:
    parts = response.parts
    return Answer(
        text="".join(part.content for part in parts if isinstance(part, TextPart)),
        calls=tuple(_call(part) for part in parts if isinstance(part, ToolCallPart)),
        thinking="\n".join(part.content for part in parts if isinstance(part, ThinkingPart) and part.content),
        model=model,
        usage=usage,
        raw=ModelMessagesTypeAdapter.dump_python([response], mode="json")[0],
        finish=FINISH.get(response.finish_reason, "unknown"),
        tries=tries,
    )


def is_empty(response: ModelResponse) -> bool:
    """Thinking alone is no answer."""
    return not any(
        isinstance(part, ToolCallPart) or (isinstance(part, TextPart) and part.content.strip())
        for part in response.parts
    )


def _part(message: Message, names: Mapping[str, str]) -> ModelRequestPart:
    if message.role == "system":
        return SystemPromptPart(message.text)
    if message.role == "tool":
        return ToolReturnPart(names.get(message.call_id, "tool"), message.text, message.call_id)
    return UserPromptPart(message.text)


def _said_before(message: Message) -> ModelMessage:
    if message.raw is not None:
        try:
            return ModelMessagesTypeAdapter.validate_python([message.raw])[0]
        except ValidationError:
            # Recorded by another version of the library: the plain words are left.
            pass
    calls = [ToolCallPart(call.name, _arguments(call), call.id) for call in message.calls]
    text: list[ModelResponsePart] = [TextPart(message.text)] if message.text else []
    return ModelResponse(parts=[*text, *calls])


def _arguments(call: ToolCall) -> str | dict[str, Any]:
    return call.arguments if isinstance(call.arguments, str) else dict(call.arguments)


def _call(part: ToolCallPart) -> ToolCall:
    arguments: Any = part.args or {}
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except ValueError:
            arguments = part.args
    return ToolCall(part.tool_call_id, part.tool_name, arguments if isinstance(arguments, dict) else str(part.args))
