"""The part of the OpenAPI document that the contracts bring: /code, and the bare paths."""

from __future__ import annotations

from drydock.api.openapi import answer, body, parameter
from drydock.api.schemas import COUNT, TEXT, Json
from drydock.dialects.polychat.openapi import user_paths, worker_paths

FAILED: Json = {"type": "object", "required": ["error"], "properties": {"error": TEXT}}
REPLY: Json = {
    "type": "object",
    "required": ["status", "stdout", "stderr", "exit_code", "execution_time_ms"],
    "properties": {
        "status": {"enum": ["success", "error"]},
        "stdout": TEXT,
        "stderr": TEXT,
        "exit_code": {"type": "integer", "minimum": -1, "maximum": 255},
        "execution_time_ms": COUNT,
        "files_produced": {"type": "object", "additionalProperties": TEXT},
        "end_reason": TEXT,
        "signal": TEXT,
        "stdout_truncated": {"const": True},
        "stderr_truncated": {"const": True},
        "stdout_base64": TEXT,
        "stderr_base64": TEXT,
        "files_skipped": {"type": "array", "items": {"type": "object", "properties": {"name": TEXT, "reason": TEXT}}},
        "timeout_seconds": {"type": "integer"},
    },
}
REQUEST: Json = {
    "type": "object",
    "required": ["code"],
    "properties": {
        "code": {"type": "string", "minLength": 1},
        "timeout_seconds": {"type": ["integer", "null"]},
        "requirements": {"type": ["array", "null"], "items": TEXT},
        "files": {"type": ["object", "null"], "additionalProperties": {"type": "string", "format": "byte"}},
        "language": {"type": ["string", "null"]},
        "env_name": {"type": ["string", "null"]},
        "python_index": {"type": ["string", "null"]},
        "tool_name": {"type": ["string", "null"]},
    },
}
NAMED: Json = {
    "type": "object",
    "required": ["name", "packages", "python_version", "created_at", "last_used_at", "size_bytes"],
    "properties": {
        "name": TEXT,
        "packages": {"type": "array", "items": TEXT},
        "python_version": {"type": ["string", "null"]},
        "created_at": TEXT,
        "last_used_at": TEXT,
        "size_bytes": COUNT,
    },
}
HEALTH: Json = {"type": "object", "required": ["status", "capacity", "current_load"]}
READY: Json = {"type": "object", "required": ["ready"], "properties": {"ready": {"type": "boolean"}, "reason": TEXT}}
REFUSED: Json = {
    "400": answer("The request is not of the contract's form; the text names the field.", FAILED),
    "401": answer("A credential is needed.", FAILED),
    "403": answer("The caller is not local, or its key is for other doors.", FAILED),
    "500": answer("The box could not be made.", FAILED),
    "503": answer("`server is shutting down`, or the keys cannot be checked.", FAILED, headers=["Retry-After"]),
}
EXECUTE: Json = {
    "operationId": "code_execute",
    "summary": "Run a snippet and answer when it has ended.",
    "requestBody": body(REQUEST, {"code": "print(1)"}),
    "responses": {
        "200": answer("The code was, or should have been, started.", REPLY, headers=["X-Run-Id", "X-Packages"]),
        **REFUSED,
        "404": answer("There is no such environment.", FAILED),
        "429": answer("At capacity; never queued.", FAILED, headers=["Retry-After"]),
    },
}
ENVIRONMENT = parameter("name", "path", "Name of the environment.", TEXT)


def _health(name: str, summary: str, shown: Json = HEALTH) -> Json:
    answers = {"200": answer("Yes.", shown), "503": answer("No.", shown)}
    return {
        method: {"operationId": f"{method}_{name}", "summary": summary, "responses": answers, "security": []}
        for method in ("get", "head")
    }


def code_paths(base: str) -> Json:
    return {
        f"{base}/execute": {"post": EXECUTE},
        f"{base}/health": _health("code_health", "Whether code can run, and how much of it runs now."),
        f"{base}/ready": _health("code_ready", "Whether there is room: 503 when full or draining.", READY),
        f"{base}/envs": {
            "get": {
                "operationId": "code_list_environments",
                "summary": "The caller's named environments, latest use first.",
                "responses": {
                    "200": answer(
                        "They.", {"type": "object", "properties": {"environments": {"type": "array", "items": NAMED}}}
                    ),
                    **REFUSED,
                },
            },
            "post": {
                "operationId": "code_create_environment",
                "summary": "Install packages under a name, exactly this list.",
                "requestBody": body(
                    {
                        "type": "object",
                        "required": ["name", "requirements"],
                        "properties": {
                            "name": TEXT,
                            "requirements": {"type": "array", "items": TEXT},
                            "python_index": {"type": ["string", "null"]},
                            "language": {"type": ["string", "null"]},
                        },
                    },
                    {"name": "ds", "requirements": ["numpy"]},
                ),
                "responses": {
                    "200": answer("There was one of that name; it has this list now.", NAMED),
                    "201": answer("It is made.", NAMED),
                    **REFUSED,
                    "429": answer("At capacity; never queued.", FAILED, headers=["Retry-After"]),
                },
            },
        },
        f"{base}/envs/{{name}}": {
            "delete": {
                "operationId": "code_delete_environment",
                "summary": "Forget it. What runs in it now keeps its view.",
                "parameters": [ENVIRONMENT],
                "responses": {
                    "204": answer("It is gone."),
                    **REFUSED,
                    "404": answer("There is no such environment.", FAILED),
                },
            }
        },
    }


def _bare(operation: str, summary: str, parameters: list[Json]) -> Json:
    return {
        "operationId": operation,
        "summary": summary,
        "parameters": parameters,
        "responses": {**REFUSED, "404": answer("The contract's door is not in this version.", FAILED)},
    }


NO_RUNS: Json = {
    "/apps/sandbox/{rest}": {
        method: _bare(
            f"{method}_polychat", "Contract `polychat`; not served here.", [parameter("rest", "path", "", TEXT)]
        )
        for method in ("get", "post", "put", "patch", "delete")
    },
    "/sandbox/execute": {"post": _bare("sandbox_execute", "Contract `polychat`; not served here.", [])},
    "/webhooks/github": {"post": _bare("webhooks_github", "Contract `polychat`; not served here.", [])},
}


def polychat_paths(base: str) -> Json:
    return worker_paths(base) | user_paths(base)


def bare_paths(runs: bool) -> Json:
    """`runs`: contract `polychat` is served, and its users' API tells its own paths."""
    execute = {**EXECUTE, "operationId": "execute", "summary": "Run what the body's shape asks for."}
    return {
        "/execute": {"post": execute},
        "/health": _health("health", "The united health of every contract."),
        "/execute/sdk": {"post": _bare("execute_sdk", "Contract `executor`; not in this version.", [])},
        "/deploy": {"post": _bare("deploy", "Contract `executor`; not in this version.", [])},
        "/github/commit": {"post": _bare("github_commit", "Contract `executor`; not in this version.", [])},
        "/tasks/{id}/result": {
            method: _bare(
                f"{method}_task_result", "Contract `task`; not in this version.", [parameter("id", "path", "", TEXT)]
            )
            for method in ("get", "delete")
        },
        **(user_paths("") if runs else NO_RUNS),
    }
