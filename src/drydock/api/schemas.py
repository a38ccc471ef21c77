"""The shapes of the native API's bodies, as the OpenAPI document shows them."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]


def ref(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


TEXT: Json = {"type": "string"}
WHOLE: Json = {"type": "integer"}
COUNT: Json = {"type": "integer", "minimum": 0}
CONTENT: Json = {
    "description": "Text, or the bytes in base64.",
    "oneOf": [
        TEXT,
        {
            "type": "object",
            "required": ["base64"],
            "additionalProperties": False,
            "properties": {"base64": {"type": "string", "format": "byte"}},
        },
    ],
}

SCHEMAS: Json = {
    "Error": {
        "type": "object",
        "required": ["error"],
        "properties": {
            "error": {
                "type": "object",
                "required": ["code", "message", "hint", "request_id"],
                "properties": {"code": TEXT, "message": TEXT, "where": TEXT, "hint": TEXT, "request_id": TEXT},
            }
        },
    },
    "NewExecution": {
        "type": "object",
        "additionalProperties": False,
        "description": "Exactly one of `code` and `argv`. `null` counts as absent.",
        "properties": {
            "language": {**TEXT, "description": "One of `languages` in /health; the server's default when absent."},
            "code": {**TEXT, "minLength": 1},
            "argv": {"type": "array", "items": TEXT, "minItems": 1, "maxItems": 256},
            "files": {
                "type": "object",
                "additionalProperties": CONTENT,
                "description": "Input files by relative path.",
            },
            "env": {"type": "object", "additionalProperties": TEXT, "maxProperties": 256},
            "stdin": CONTENT,
            "requirements": {
                "type": "array",
                "items": TEXT,
                "maxItems": 256,
                "description": "Packages that the program imports, as name and version; for python and node.",
            },
            "environment": {
                **TEXT,
                "description": "A named environment; with requirements it is made, or extended by them.",
            },
            "index": {**TEXT, "description": "Package index instead of the server's own; its host must be allowed."},
            "limits": {
                "type": "object",
                "additionalProperties": False,
                "description": "What is above this server's limits is brought down to them; the reply says to what.",
                "properties": {
                    "timeout_ms": {"type": "integer", "minimum": 1},
                    "memory_bytes": {"type": "integer", "minimum": 16 << 20},
                    "processes": {"type": "integer", "minimum": 4},
                    "cpus": {"type": "number", "minimum": 0.01},
                },
            },
            "isolation": {
                **TEXT,
                "description": "`box` or `gvisor`: the tier in force or a stronger one; else refused.",
            },
            "outputs": {
                "type": "array",
                "items": {"type": "string", "minLength": 1, "maxLength": 1024},
                "maxItems": 64,
                "description": "Glob patterns; of the files that the program leaves, those that match come back.",
            },
            "wait": {"type": "boolean", "default": True, "description": "Answer when it has ended."},
            "label": {"type": "string", "maxLength": 128},
        },
    },
    "Ended": {
        "type": "object",
        "required": ["reason", "exit_code", "signal", "retryable"],
        "properties": {
            "reason": {
                "enum": [
                    "completed",
                    "exit_nonzero",
                    "signal",
                    "timeout",
                    "memory_limit",
                    "process_limit",
                    "disk_limit",
                    "cancelled",
                    "server_shutdown",
                    "start_failed",
                    "install_failed",
                    "box_failed",
                    "interrupted",
                ]
            },
            "exit_code": {"type": ["integer", "null"]},
            "signal": {"type": ["string", "null"]},
            "wall_ms": COUNT,
            "cpu_ms": COUNT,
            "peak_memory_bytes": COUNT,
            "stdout_bytes": COUNT,
            "stderr_bytes": COUNT,
            "stdout_cut": {"type": "boolean"},
            "stderr_cut": {"type": "boolean"},
            "survivors": COUNT,
            "retryable": {"type": "boolean"},
            "detail": TEXT,
        },
    },
    "File": {
        "type": "object",
        "required": ["name", "size", "sha256", "url"],
        "properties": {
            "name": TEXT,
            "size": COUNT,
            "sha256": TEXT,
            "url": TEXT,
            "base64": {"type": "string", "description": "While all files together are at most 1 MiB."},
        },
    },
    "Packages": {
        "type": "object",
        "description": "How it came by what it required.",
        "required": ["cache", "time_ms", "layer", "lock", "denials"],
        "properties": {
            "cache": {"enum": ["hit", "miss"], "description": "`hit`: nothing had to be installed for it."},
            "time_ms": COUNT,
            "layer": TEXT,
            "lock": {"type": "array", "items": TEXT, "description": "What is installed, pinned; requirements again."},
            "denials": {
                "type": "array",
                "description": "What the installation asked for and was not given.",
                "items": {
                    "type": "object",
                    "properties": {"host": TEXT, "path": TEXT, "class": TEXT, "message": TEXT},
                },
            },
        },
    },
    "Environment": {
        "type": "object",
        "required": ["name", "language", "requirements", "lock", "created_at", "last_used_at", "size_bytes"],
        "properties": {
            "name": TEXT,
            "language": {"enum": ["python", "node"]},
            "version": {**TEXT, "description": "Of the language that it was made for."},
            "requirements": {"type": "array", "items": TEXT},
            "lock": {"type": "array", "items": TEXT, "description": "What is installed, pinned."},
            "created_at": TEXT,
            "last_used_at": TEXT,
            "size_bytes": COUNT,
        },
    },
    "NewEnvironment": {
        "type": "object",
        "additionalProperties": False,
        "required": ["name", "requirements"],
        "properties": {
            "name": {**TEXT, "pattern": "^[a-z0-9][a-z0-9._-]{0,62}$"},
            "language": {"enum": ["python", "node"], "default": "python"},
            "requirements": {"type": "array", "items": TEXT, "minItems": 1, "maxItems": 256},
            "index": TEXT,
            "timeout_ms": {"type": "integer", "minimum": 1, "maximum": 3_600_000, "default": 600_000},
        },
    },
    "Execution": {
        "type": "object",
        "required": ["id", "dialect", "state", "language", "created_at", "started_at", "ended_at", "ended"],
        "properties": {
            "id": TEXT,
            "dialect": TEXT,
            "state": {"enum": ["queued", "running", "ended"]},
            "language": TEXT,
            "created_at": TEXT,
            "started_at": {"type": ["string", "null"]},
            "ended_at": {"type": ["string", "null"]},
            "ended": {"anyOf": [ref("Ended"), {"type": "null"}]},
            "label": TEXT,
            "limits": {"type": "object", "description": "In force."},
            "stdout": {**TEXT, "description": "Bytes that are not UTF-8 are U+FFFD here and exact in stdout_base64."},
            "stdout_base64": TEXT,
            "stderr": TEXT,
            "stderr_base64": TEXT,
            "packages": ref("Packages"),
            "files": {"type": "array", "items": ref("File")},
            "skipped": {
                "type": "array",
                "items": {"type": "object", "properties": {"name": TEXT, "reason": TEXT}},
            },
        },
    },
    "Page": {
        "type": "object",
        "required": ["executions", "next_cursor"],
        "properties": {
            "executions": {"type": "array", "items": ref("Execution")},
            "next_cursor": {"type": ["string", "null"]},
        },
    },
}
