"""This contract's part of the OpenAPI document."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, get_args

from drydock.agent.task import TaskType, Trust
from drydock.api.openapi import LAST_EVENT, answer, body, parameter
from drydock.api.runs.openapi import ARTIFACT_KINDS, FLAG, OBJECT
from drydock.api.schemas import COUNT, TEXT, WHOLE, Json
from drydock.dialects.polychat.order import LEAST_S, MOST_S, STRATEGIES

Operation = Callable[..., Json]
"""Its name, a summary, the responses, then its parameters and what is sent."""
REPO: Json = {"type": "string", "pattern": "^[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+$"}
POSITIVE: Json = {"type": "integer", "minimum": 1}
ASKED: Json = {
    "repo": REPO,
    "task": {"type": "string", "minLength": 1},
    "taskType": {"enum": list(get_args(TaskType))},
    "model": TEXT,
    "promptStrategy": {"enum": list(STRATEGIES)},
    "shouldCommit": FLAG,
    "timeoutSeconds": {"type": "integer", "minimum": LEAST_S, "maximum": MOST_S},
    "trustLevel": {"enum": list(get_args(Trust))},
    "cloneDepth": COUNT,
    "generateTests": FLAG,
    "repairRounds": {"type": "integer", "minimum": 0, "maximum": 5},
    "deliveryPolicy": OBJECT,
    "modelSettings": OBJECT,
    "followUpOf": TEXT,
}
WORKER: Json = {
    "type": "object",
    "description": "Flat, or nested: `task` is then the type of the task, and the fields are in `params`.",
    "properties": ASKED | {"runId": TEXT, "userId": POSITIVE, "installationId": POSITIVE, "polychatApiUrl": TEXT},
}
STARTED: Json = {
    "type": "object",
    "required": ["installationId", "repo", "task"],
    "properties": ASKED | {"installationId": POSITIVE},
}
RESULT: Json = {
    "type": "object",
    "required": ["success", "logs"],
    "properties": {
        "success": FLAG,
        **{name: TEXT for name in ("logs", "diff", "summary", "error", "errorType", "branchName")},
        "retryable": FLAG,
    },
}
RUN: Json = {
    "type": "object",
    "required": ["runId", "repo", "task", "taskType", "model", "shouldCommit", "status", "startedAt", "events"],
    "properties": {
        "runId": TEXT,
        "status": {"enum": ["queued", "running", "paused", "completed", "failed", "cancelled"]},
        "events": {"type": "array", "items": OBJECT},
        "result": RESULT,
    },
}
INSTRUCTION: Json = {
    "type": "object",
    "properties": {
        "kind": {"enum": ["message", "continue", "approval_request", "approval_response"]},
        "content": {"type": "string", "maxLength": 2000},
        "command": {"type": "string", "maxLength": 500},
        "requestId": TEXT,
        "approvalStatus": {"enum": ["approved", "rejected"]},
        "timeoutSeconds": {"type": "integer", "minimum": 5, "maximum": 1800},
        "escalateAfterSeconds": {"type": "integer", "minimum": 1, "maximum": 900},
        "idempotencyKey": {"type": "string", "minLength": 1, "maxLength": 100},
    },
}
REASON: Json = {"type": "object", "properties": {"reason": {"type": "string", "minLength": 1, "maxLength": 280}}}
EXAMPLE: Json = {"repo": "acme/ledger", "task": "Add CSV export", "installationId": 7}
ID = parameter("id", "path", "Id of the run, or the one that its client gave it.", TEXT)
AFTER = parameter("after", "query", "Index of the last event that was seen.", COUNT)
FORGE = parameter("X-GitHub-Token", "header", "Opens the repository; never kept in clear, gone with the run.", TEXT)
FAILED: Json = {"type": "object", "required": ["error"], "properties": {"error": TEXT, "requestId": TEXT}}
WORDS = {
    400: "A field is not as the contract has it; `details` names it.",
    401: "A credential is needed.",
    403: "The caller is not local, has another plan, or its key is for other doors.",
    404: "There is no such run, or it is another's; or no such route.",
    409: "It contradicts what was said before.",
    413: "The body is over 1 MiB.",
    426: "This server speaks no websockets.",
    429: "A quota is reached.",
    503: "The server is stopping.",
}
GUARDED = (401, 403, 404, 503)
"""404 is also what a method gets that a path does not have."""


def _refused(*statuses: int) -> Json:
    return {
        str(status): answer(WORDS[status], FAILED, headers=["Retry-After"] if status in (429, 503) else ())
        for status in sorted({*GUARDED, *statuses})
    }


def _told(name: str, schema: Json) -> Json:
    return {"200": answer("It.", {"type": "object", "properties": {name: schema}})}


def _streamed(schema: Json | None = None) -> Json:
    """Frames of `data:`, and where nothing streams the result."""
    kinds: dict[str, Any] = {"text/event-stream": {"schema": {}}}
    if schema is not None:
        kinds["application/json"] = {"schema": schema}
    return {"200": answer("Its events, until `[DONE]`.", headers=["X-Sandbox-Run-Id"]) | {"content": kinds}}


def worker_paths(base: str) -> Json:
    responses = _streamed(RESULT) | _refused(400, 413, 429, 404, 409)
    operation = {
        "operationId": "polychat_execute",
        "summary": "Contract `polychat`: a run, answered by its events or, without `Accept: text/event-stream`, by its "
        "result.",
        "parameters": [FORGE],
        "requestBody": body(WORKER, {"repo": "acme/ledger", "task": "Add CSV export"}),
        "responses": responses,
    }
    return {f"{base}/execute": {"post": operation}}


def user_paths(base: str) -> Json:
    def operation(name: str, summary: str, responses: Json, *parameters: Json, sent: Json | None = None) -> Json:
        told = {
            "operationId": f"{'polychat' if base else 'bare'}_{name}",
            "summary": summary,
            "parameters": list(parameters),
            "responses": responses,
        }
        return told if sent is None else told | {"requestBody": sent}

    one = f"{base}/apps/sandbox/runs/{{id}}"
    return {
        **_runs(base, operation),
        **_looking(one, operation),
        **_steering(one, operation),
        **_not_built(base),
    }


def _runs(base: str, operation: Operation) -> Json:
    """All of a user's runs, and beginning one."""
    runs = f"{base}/apps/sandbox/runs"
    listed = [
        parameter("installationId", "query", "Of this installation.", POSITIVE),
        parameter("repo", "query", "Of this repository.", TEXT),
        parameter("limit", "query", "Most of them.", {"type": "integer", "minimum": 1, "maximum": 100}),
    ]
    start = _refused(400, 404, 409, 413, 429)
    return {
        runs: {
            "get": operation("runs", "Runs, latest change first.", _told("runs", _many(RUN)) | _refused(400), *listed)
        },
        f"{runs}/execute-stream": {
            "post": operation(
                "start", "Start a run and watch it.", _streamed() | start, FORGE, sent=body(STARTED, EXAMPLE)
            )
        },
        f"{base}/apps/sandbox/quota": {
            "get": operation("quota", "Used, and how much there is.", _told("quota", OBJECT) | _refused())
        },
        f"{base}/sandbox/execute": {
            "post": operation(
                "proxy", "What the worker would answer.", _streamed(RESULT) | start, FORGE, sent=body(WORKER, EXAMPLE)
            )
        },
    }


def _looking(one: str, operation: Operation) -> Json:
    """What one run is, tells and leaves."""
    return {
        one: {"get": operation("run", "One run.", _told("run", RUN) | _refused(404), ID)},
        f"{one}/events": {
            "get": operation("events", "Its events.", _told("events", _many(OBJECT)) | _refused(400, 404), ID, AFTER)
        },
        f"{one}/events/stream": {
            "get": operation("follow", "Replay, then live.", _streamed() | _refused(400, 404), ID, AFTER, LAST_EVENT)
        },
        f"{one}/events/ws": {"get": operation("socket", "No websocket.", _refused(404, 426), ID)},
        f"{one}/artifacts": {
            "get": operation(
                "artifacts", "What an ended run left.", _told("artifacts", _many(OBJECT)) | _refused(404), ID
            )
        },
        f"{one}/artifacts/{{name}}": {
            "get": operation(
                "artifact",
                "One of logs.txt, diff.patch, events.ndjson, result.json and manifest.json.",
                {
                    "200": answer("It.") | {"content": {kind: {"schema": {}} for kind in ARTIFACT_KINDS}},
                    **_refused(404),
                },
                ID,
                parameter("name", "path", "Its name.", TEXT),
            )
        },
    }


def _steering(one: str, operation: Operation) -> Json:
    """What people do to one run."""

    def steer(verb: str) -> Json:
        shown = _told("run", RUN) | _refused(400, 404, 413)
        return {"post": operation(verb, f"{verb.capitalize()} a run.", shown, ID, sent=body(REASON, {"reason": "x"}))}

    return {
        f"{one}/control": {
            "get": operation("control", "What is asked of it now.", _told("state", TEXT) | _refused(404), ID)
        },
        f"{one}/pause": steer("pause"),
        f"{one}/resume": steer("resume"),
        f"{one}/cancel": steer("cancel"),
        f"{one}/instructions": {
            "get": operation(
                "instructions",
                "What was said to it and what it asked.",
                _told("instructions", _many(OBJECT)) | _refused(400, 404),
                ID,
                parameter("after", "query", "Index of the last one that was seen.", WHOLE),
            ),
            "post": operation(
                "instruct",
                "Say something, or answer what it asks.",
                _told("instruction", OBJECT) | _refused(400, 404, 409, 413),
                ID,
                sent=body(INSTRUCTION, {"content": "smaller steps"}),
            ),
        },
    }


def _many(schema: Json) -> Json:
    return {"type": "array", "items": schema}


def _not_built(base: str) -> Json:
    """Routes that are known and have no door in this version."""
    name = "polychat" if base else "bare"

    def paths(path: str, methods: Sequence[str], *parameters: Json) -> Json:
        words = path.strip("/").replace("/", "_").replace("{", "").replace("}", "").replace("-", "_")
        return {
            f"{base}{path}": {
                method: {
                    "operationId": f"{name}_{method}_{words}",
                    "summary": "Contract `polychat`; not in this version.",
                    "parameters": list(parameters),
                    "responses": _refused(404),
                }
                for method in methods
            }
        }

    installation = parameter("installation", "path", "Id of the installation.", TEXT)
    connections = "/apps/sandbox/connections"
    return {
        **paths(connections, ("get", "post")),
        **paths(f"{connections}/auto", ("post",)),
        **paths(f"{connections}/{{installation}}", ("delete",), installation),
        **paths(f"{connections}/{{installation}}/repositories", ("get", "put"), installation),
        **paths("/apps/sandbox/github/install-config", ("get",)),
        **paths("/webhooks/github", ("post",)),
    }
