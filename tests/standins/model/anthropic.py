"""Anthropic's Messages."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tests.standins.model.script import Step

PIECE = 24


def answers_before(request: Mapping[str, Any]) -> int:
    """One answer may come back as several messages in a row."""
    roles = [message["role"] for message in request["messages"]]
    return sum(role == "assistant" and (at == 0 or roles[at - 1] != role) for at, role in enumerate(roles))


def has_system(request: Mapping[str, Any]) -> bool:
    return bool(request.get("system"))


def plain(step: Step, request: Mapping[str, Any]) -> dict[str, Any]:
    names = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    return {
        "id": "msg_scripted",
        "type": "message",
        "role": "assistant",
        "model": request["model"],
        "content": _blocks(step),
        "stop_reason": step.stop or ("tool_use" if step.tools else "end_turn"),
        "stop_sequence": None,
        "usage": {name: step.tokens(name) for name in names},
    }


def stream(step: Step, request: Mapping[str, Any]) -> Iterator[str]:
    whole = plain(step, request)
    yield _event("message_start", message={**whole, "content": [], "stop_reason": None})
    for index, block in enumerate(whole["content"]):
        start, deltas = _pieces(block)
        yield _event("content_block_start", index=index, content_block=start)
        for delta in deltas:
            yield _event("content_block_delta", index=index, delta=delta)
        yield _event("content_block_stop", index=index)
    delta = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    yield _event("message_delta", delta=delta, usage={"output_tokens": step.tokens("output_tokens")})
    yield _event("message_stop")


def error(status: int, text: str) -> dict[str, Any]:
    kinds = {401: "authentication_error", 429: "rate_limit_error", 529: "overloaded_error"}
    return {"type": "error", "error": {"type": kinds.get(status, "api_error"), "message": text}}


def _blocks(step: Step) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    if step.thinking:
        blocks.append({"type": "thinking", "thinking": step.thinking, "signature": "c2lnbmVk"})
    if step.text:
        blocks.append({"type": "text", "text": step.text})
    for at, use in enumerate(step.tools):
        blocks.append({"type": "tool_use", "id": use.id or f"toolu_{at}", "name": use.name, "input": use.input})
    return blocks


def _pieces(block: Mapping[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The block as it opens, and what is added to it."""
    kind = block["type"]
    if kind == "tool_use":
        added = _cut(json.dumps(block["input"]))
        return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": piece} for piece in added]
    deltas = [{"type": f"{kind}_delta", kind: piece} for piece in _cut(block[kind])]
    if kind == "thinking":
        deltas.append({"type": "signature_delta", "signature": block["signature"]})
        return {"type": kind, "thinking": "", "signature": ""}, deltas
    return {"type": kind, kind: ""}, deltas


def _cut(text: str) -> list[str]:
    return [text[at : at + PIECE] for at in range(0, len(text), PIECE)]


def _event(kind: str, **fields: Any) -> str:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n"
