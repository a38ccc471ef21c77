"""Google's generateContent."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tests.standins.model.script import Step


def answers_before(request: Mapping[str, Any]) -> int:
    return sum(content.get("role") == "model" for content in request["contents"])


def has_system(request: Mapping[str, Any]) -> bool:
    return bool(request.get("systemInstruction") or request.get("system_instruction"))


def plain(step: Step, request: Mapping[str, Any]) -> dict[str, Any]:
    parts: list[dict[str, Any]] = []
    if step.thinking:
        parts.append({"text": step.thinking, "thought": True})
    if step.text:
        parts.append({"text": step.text})
    parts += [{"functionCall": {"name": use.name, "args": use.input}} for use in step.tools]
    finish = {"max_tokens": "MAX_TOKENS"}.get(step.stop, "STOP")
    cached = step.tokens("cache_read_input_tokens")
    given, made = step.tokens("input_tokens") + cached, step.tokens("output_tokens")
    return {
        "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": finish, "index": 0}],
        "usageMetadata": {
            "promptTokenCount": given,
            "candidatesTokenCount": made,
            "totalTokenCount": given + made,
            "cachedContentTokenCount": cached,
        },
        "modelVersion": "scripted",
        "responseId": "scripted",
    }


def stream(step: Step, request: Mapping[str, Any]) -> Iterator[str]:
    yield f"data: {json.dumps(plain(step, request))}\n\n"


def error(status: int, text: str) -> dict[str, Any]:
    return {"error": {"code": status, "message": text, "status": "UNKNOWN"}}
