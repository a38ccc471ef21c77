"""The OpenAPI paths of /v1/runs, written by hand as those of the rest of the native API are."""

from __future__ import annotations

from typing import get_args

from drydock.agent.task import Strategy, TaskType, Trust
from drydock.api.openapi import GUARDED, KEY, LAST_EVENT, STREAM, answer, body, errors, parameter
from drydock.api.schemas import COUNT, TEXT, WHOLE, Json
from drydock.errors import AtCapacity, Conflict, Draining, Invalid, NotFound, QuotaReached, TooLarge
from drydock.run.artefacts import KINDS

ID = parameter("id", "path", "Id of the run, or the one that its caller gave it.", TEXT)
FLAG: Json = {"type": "boolean"}
OBJECT: Json = {"type": "object"}
REASON: Json = {"type": "object", "properties": {"reason": {"type": "string", "minLength": 1, "maxLength": 280}}}
RUN: Json = {
    "type": "object",
    "required": ["id", "dialect", "status", "phase", "task", "created_at", "last_event"],
    "properties": {
        "id": TEXT,
        "dialect": TEXT,
        "status": {"enum": ["queued", "running", "paused", "completed", "failed", "cancelled"]},
        "phase": TEXT,
        "task": TEXT,
        "created_at": TEXT,
        "last_event": WHOLE,
        "result": {"type": ["object", "null"]},
    },
}
NEW_RUN: Json = {
    "type": "object",
    "required": ["task"],
    "additionalProperties": False,
    "properties": {
        "task": {"type": "string", "minLength": 1, "maxLength": 100_000},
        "repo": {"type": "string", "maxLength": 512, "description": "owner/name, an https address, or a folder."},
        "branch": {"type": "string", "maxLength": 512, "description": "To start from; a tag or whole hash too."},
        "new_branch": {"type": "string", "maxLength": 512, "description": "For the commit; else `drydock/run-ID`."},
        "type": {"enum": list(get_args(TaskType))},
        "model": {"type": "string", "maxLength": 512},
        "strategy": {"enum": ["auto", *get_args(Strategy)]},
        "trust": {"enum": list(get_args(Trust))},
        "commit": FLAG,
        "generate_tests": FLAG,
        "clone_depth": COUNT,
        "timeout_ms": {"type": "integer", "minimum": 1},
        "repair_rounds": {"type": "integer", "minimum": 0, "maximum": 5},
        "limits": {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "steps": {"type": "integer", "minimum": 1, "maximum": 1000},
                "commands": {"type": "integer", "minimum": 0, "maximum": 1000},
                "tokens": {"type": "integer", "minimum": 1},
                "usd": {"type": "number", "minimum": 0},
                "command_ms": {"type": "integer", "minimum": 1},
                "wall_ms": {"type": "integer", "minimum": 1, "description": "Of models and commands together."},
            },
        },
        "model_settings": OBJECT,
        "ask_for_more": {**FLAG, "description": "Ask a person when a budget is used up, instead of ending."},
        "follow_up_of": TEXT,
        "client_id": {"type": "string", "pattern": "^[A-Za-z0-9._:-]{1,128}$"},
        "wait": {**FLAG, "description": "Answer when it has ended."},
    },
}
CHANGED: Json = {"type": "object", "properties": {"changed": FLAG, "was": TEXT, "run": RUN}}
APPROVAL: Json = {
    "type": "object",
    "properties": {name: TEXT for name in ("kind", "command", "hash", "message", "expires_at", "status", "reason")}
    | {"number": WHOLE},
}
EVENT: Json = {
    "type": "object",
    "properties": {"seq": WHOLE, "type": TEXT, "recorded_at": TEXT, "data": OBJECT},
}
EVENTS: Json = {"type": "object", "properties": {"events": {"type": "array", "items": EVENT}}}
ARTIFACTS: Json = {"type": "object", "properties": {"artifacts": {"type": "array", "items": OBJECT}}}
MESSAGE: Json = {"type": "object", "properties": {"number": WHOLE, "kind": TEXT, "text": TEXT}}
WAITING: Json = {"type": "object", "properties": {"waiting": {"type": "array", "items": OBJECT}}}
STARTED = ("X-Run-Id", "Idempotency-Replayed", "Location")
OR_STREAM: Json = {"text/event-stream": {"schema": STREAM}}


def _bare(kind: str) -> str:
    """Without its charset."""
    return kind.partition(";")[0]


def _control(operation: str, summary: str) -> Json:
    return {
        "post": {
            "operationId": operation,
            "summary": summary,
            "parameters": [ID],
            "requestBody": {**body(REASON, {"reason": "lunch"}), "required": False},
            "responses": {"200": answer("As it is now.", CHANGED), **errors(*GUARDED, Invalid, NotFound, TooLarge)},
        }
    }


ARTIFACT_KINDS = ("application/json", *(_bare(kind) for kind in KINDS.values()))
RUNS: Json = {
    "/v1/runs": {
        "post": {
            "operationId": "start_run",
            "summary": "Give a task to an agent.",
            "description": "It goes on whoever hangs up. With `Accept: text/event-stream` the answer is its events.",
            "parameters": [KEY],
            "requestBody": body(NEW_RUN, {"task": "Mend the failing test", "repo": "acme/ledger", "commit": True}),
            "responses": {
                "200": answer("It has ended.", RUN, headers=STARTED)
                | {"content": {"application/json": {"schema": RUN}, **OR_STREAM}},
                "202": answer("It will run.", RUN, headers=STARTED),
                **errors(*GUARDED, Invalid, NotFound, TooLarge, Conflict, AtCapacity, QuotaReached, Draining),
            },
        },
        "get": {
            "operationId": "list_runs",
            "summary": "The caller's runs, latest change first.",
            "parameters": [
                parameter("status", "query", "Any of these, separated by commas.", TEXT),
                parameter("repo", "query", "Of this repository.", TEXT),
                parameter("cursor", "query", "`next_cursor` of the page before.", TEXT),
                parameter("limit", "query", "Most of them.", {"type": "integer", "minimum": 1, "maximum": 100}),
            ],
            "responses": {
                "200": answer(
                    "A page.",
                    {
                        "type": "object",
                        "properties": {
                            "runs": {"type": "array", "items": RUN},
                            "next_cursor": {"type": ["string", "null"]},
                        },
                    },
                ),
                **errors(*GUARDED, Invalid),
            },
        },
    },
    "/v1/runs/{id}": {
        "get": {
            "operationId": "get_run",
            "summary": "One run as it is now.",
            "parameters": [ID],
            "responses": {"200": answer("It.", RUN), **errors(*GUARDED, NotFound)},
        }
    },
    "/v1/runs/{id}/events": {
        "get": {
            "operationId": "watch_run",
            "summary": "Its events after the number given, then live until it has ended; or those that are looked for.",
            "description": "With `kind`, `q` or `before` the answer is JSON, newest first. With "
            "`Accept: application/json` it is what is there after the number given.",
            "parameters": [
                ID,
                LAST_EVENT,
                parameter("after", "query", "The same as Last-Event-ID.", COUNT),
                parameter("kind", "query", "Types of events, separated by commas.", TEXT),
                parameter("q", "query", "Text that is in them, in whatever case.", TEXT),
                parameter("before", "query", "Only those before this number.", COUNT),
                parameter("limit", "query", "Most of them.", {"type": "integer", "minimum": 1, "maximum": 1000}),
            ],
            "responses": {
                "200": answer("They.", EVENTS) | {"content": {"application/json": {"schema": EVENTS}, **OR_STREAM}},
                "204": answer("Every event was seen already."),
                **errors(*GUARDED, Invalid, NotFound),
            },
        }
    },
    "/v1/runs/{id}/pause": _control("pause_run", "Stop it where it is, a running command too; its clock stands."),
    "/v1/runs/{id}/resume": _control("resume_run", "Let it go on."),
    "/v1/runs/{id}/cancel": _control("cancel_run", "End it. What was kept of its work stays."),
    "/v1/runs/{id}/stop-command": {
        "post": {
            "operationId": "stop_command",
            "summary": "End the command that runs now, not the run.",
            "parameters": [ID],
            "responses": {
                "200": answer("As it is now.", CHANGED),
                **errors(*GUARDED, Invalid, NotFound, Conflict, TooLarge),
            },
        }
    },
    "/v1/runs/{id}/messages": {
        "post": {
            "operationId": "say_to_run",
            "summary": "Say something to the agent; it hears it before its next decision.",
            "parameters": [ID],
            "requestBody": body(
                {
                    "type": "object",
                    "additionalProperties": False,
                    "properties": {
                        "text": {"type": "string", "maxLength": 2000},
                        "kind": {"enum": ["message", "continue"]},
                        "key": {"type": "string", "minLength": 1, "maxLength": 100},
                    },
                },
                {"text": "leave the public interface as it is"},
            ),
            "responses": {
                "200": answer(
                    "Taken.", {"type": "object", "properties": {"number": WHOLE, "kind": TEXT, "text": TEXT}}
                ),
                **errors(*GUARDED, Invalid, NotFound, Conflict, TooLarge),
            },
        }
    },
    "/v1/runs/{id}/approvals/{number}": {
        "post": {
            "operationId": "answer_run",
            "summary": "Yes or no to what it asks. `hash` binds the answer to the command that was read.",
            "parameters": [ID, parameter("number", "path", "Number of the question.", COUNT)],
            "requestBody": body(
                {
                    "type": "object",
                    "required": ["approved"],
                    "additionalProperties": False,
                    "properties": {"approved": FLAG, "reason": REASON["properties"]["reason"], "hash": TEXT},
                },
                {"approved": True},
            ),
            "responses": {
                "200": answer("Settled.", APPROVAL),
                **errors(*GUARDED, Invalid, NotFound, Conflict, TooLarge),
            },
        }
    },
    "/v1/runs/{id}/diff": {
        "get": {
            "operationId": "get_diff",
            "summary": "What the run changed, or has changed so far, as a patch.",
            "parameters": [
                ID,
                parameter("turn", "query", "Of this turn alone, as `agentStep` of the events counts; 0 is all.", COUNT),
                parameter("path", "query", "Of this file alone.", TEXT),
                parameter("ignore_space", "query", "Without what changed in white space alone.", FLAG),
            ],
            "responses": {"200": answer("It.", TEXT, "text/x-diff"), **errors(*GUARDED, Invalid, NotFound)},
        }
    },
    "/v1/runs/{id}/artifacts": {
        "get": {
            "operationId": "list_artifacts",
            "summary": "What an ended run left.",
            "parameters": [ID],
            "responses": {"200": answer("They.", ARTIFACTS), **errors(*GUARDED, NotFound)},
        }
    },
    "/v1/runs/{id}/artifacts/{name}": {
        "get": {
            "operationId": "get_artifact",
            "summary": "One of logs.txt, diff.patch, events.ndjson, result.json and manifest.json.",
            "parameters": [ID, parameter("name", "path", "Its name.", TEXT)],
            "responses": {
                "200": answer("It.") | {"content": {kind: {"schema": {}} for kind in ARTIFACT_KINDS}},
                **errors(*GUARDED, NotFound),
            },
        }
    },
    "/v1/waiting": {
        "get": {
            "operationId": "list_waiting",
            "summary": "What waits for a person, over all runs of the caller.",
            "description": "With `Accept: text/event-stream` an event `waiting` tells it, and again with each change.",
            "responses": {
                "200": answer("They.", WAITING) | {"content": {"application/json": {"schema": WAITING}, **OR_STREAM}},
                **errors(*GUARDED),
            },
        }
    },
}
