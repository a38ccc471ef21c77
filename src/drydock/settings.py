"""Every knob, typed, one line of explanation each. Read once by `load`, passed in; nothing else reads the environment.

Strength, strongest first: command-line flag, DRYDOCK_ variable, drydock.toml, the contracts' own variable names.
docs/reference/settings.md is generated from this file (`python -m drydock.settings`), and a test compares the two.
"""

from __future__ import annotations

import difflib
import os
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic.fields import FieldInfo

from drydock.errors import BadSetting

MIB = 1 << 20
KNOWN_ELSEWHERE = ("DRYDOCK_CONFIG", "DRYDOCK_SECRETS_KEY", "DRYDOCK_URL", "DRYDOCK_API_KEY")


def _knob(default: Any, what: str, alias: str | None = None, secret: bool = False, **bounds: Any) -> Any:
    return Field(default, description=what, json_schema_extra={"alias": alias, "secret": secret}, **bounds)


class Settings(BaseModel):
    """What an operator can turn."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    # Where the server is
    host: str = _knob("127.0.0.1", "Address to listen on. Any but loopback needs a credential.")
    port: int = _knob(8080, "Port to listen on; 0 takes a free one and prints it.", "SANDBOX_PORT", ge=0, le=65535)
    data: Path = _knob(Path("drydock-data"), "Folder that holds all state of this server.")
    database: str = _knob("", "Database URL; empty is SQLite in the data folder.")
    objects: str = _knob("", "Object store URL; empty is a folder in the data folder.")
    only: Literal["", "code"] = _knob("", "Serve one dialect alone, at the root, with exactly its forms.")
    root: Literal["executor", "task", "code", "polychat"] = _knob(
        "executor", "Dialect of a bare POST /execute that no rule of the routing contract decides."
    )
    bare: bool = _knob(True, "Answer the contracts' bare paths; false leaves only the prefixes.")

    # Who may call
    server_auth_token: str = _knob("", "A bearer token that opens every door.", "SERVER_AUTH_TOKEN", secret=True)
    open: bool = _knob(False, "Serve without any credential on an address that is not loopback. Warned of at start.")

    # Bounds of a request
    body_limit: int = _knob(10 * MIB, "Largest request body in bytes.", ge=1024)
    body_limit_anonymous: int = _knob(MIB, "Largest body in bytes while the caller has shown no credential.", ge=1024)
    receive_timeout: float = _knob(30.0, "Seconds within which a request's head, and then its body, must arrive.", gt=0)
    shutdown_grace: float = _knob(10.0, "Seconds that running work gets to end after SIGTERM.", ge=0)

    # Code
    sandbox_mode: str = _knob("", "Default language; empty is the first installed.", "SANDBOX_MODE")
    max_concurrent: int = _knob(3, "Executions at once.", "SANDBOX_MAX_CONCURRENT", ge=1, le=1024)
    queue: int = _knob(1000, "Executions of the native API that may wait for a place.", ge=0)
    code_max_timeout: int = _knob(3600, "Longest time limit of an execution in seconds.", ge=1)
    output_dir: str = _knob("output", "Name of the output folder in the work folder.", "SANDBOX_OUTPUT_DIR")
    python_index: str = _knob("", "Package index for Python requirements.", "SANDBOX_PYTHON_INDEX")
    python: Path = _knob(Path("/usr/bin/python3"), "Interpreter that runs Python code in the boxes.")
    retention: float = _knob(7 * 86400.0, "Seconds that an ended execution's result is kept.", ge=0)

    # Boxes
    isolation: Literal["box", "process"] = _knob(
        "box", "How code is walled in. `process` has no walls at all: for trying things on a host without namespaces."
    )
    memory: int = _knob(512 * MIB, "Memory of a box in bytes, its work folder counted apart.", ge=16 * MIB)
    work_bytes: int = _knob(512 * MIB, "Bytes that a box may write to its work and temporary folders.", ge=MIB)
    inodes: int = _knob(65536, "Files and folders that a box may hold.", ge=64)
    processes: int = _knob(128, "Processes and threads at once in a box.", ge=4)
    file_bytes: int = _knob(64 * MIB, "Largest single file that a program may write.", ge=MIB)
    open_files: int = _knob(256, "Open files of one process in a box.", ge=32)
    cpus: float = _knob(1.0, "Processors that a box may use.", gt=0)
    output_bytes: int = _knob(10 * MIB, "Bytes kept of each output stream; the rest is read and counted.", ge=1024)
    uid_base: int = _knob(300000, "First host uid of the boxes when the server runs as root; one uid each.", ge=1000)

    # What is told
    log_level: Literal["debug", "info", "warning", "error"] = _knob("info", "Least severe line of the log.")

    @field_validator("output_dir")
    @classmethod
    def _one_plain_name(cls, value: str) -> str:
        if not value or "/" in value or value in (".", "..") or "\0" in value:
            raise ValueError("must be one plain name, no `/` and no `..`")
        return value


def flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def variable(name: str) -> str:
    return "DRYDOCK_" + name.upper()


def extra(field: FieldInfo) -> dict[str, Any]:
    return field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}


def load(flags: Mapping[str, Any] | None = None, environ: Mapping[str, str] | None = None) -> Settings:
    """Read flags, environment and drydock.toml once; an unknown key or a bad value is a BadSetting that says where."""
    environ = os.environ if environ is None else environ
    told: dict[str, tuple[Any, str]] = {}
    for name, field in Settings.model_fields.items():
        alias = extra(field).get("alias")
        if alias and environ.get(alias, "") != "":
            told[name] = (environ[alias], alias)
    for name, value in _from_file(environ).items():
        told[_known(name, Settings.model_fields, "drydock.toml")] = (value, f"{name} in drydock.toml")
    for key, text in environ.items():
        if key.startswith("DRYDOCK_") and key not in KNOWN_ELSEWHERE:
            variables = {variable(n): n for n in Settings.model_fields}
            told[variables[_known(key, variables, "the environment")]] = (text, key)
    for name, value in (flags or {}).items():
        if value is not None:
            told[name] = (value, flag(name))
    try:
        return Settings(**{name: value for name, (value, _) in told.items()})
    except ValidationError as wrong:
        first = wrong.errors(include_url=False)[0]
        name = str(first["loc"][0])
        shown = "" if extra(Settings.model_fields[name]).get("secret") else f", not {told[name][0]!r}"
        reason = first["msg"].removeprefix("Value error, ")
        raise BadSetting(f"{told[name][1]}: {reason}{shown}", where=told[name][1]) from None


def _from_file(environ: Mapping[str, str]) -> dict[str, Any]:
    named = environ.get("DRYDOCK_CONFIG")
    path = Path(named or "drydock.toml")
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        if named:
            raise BadSetting(f"DRYDOCK_CONFIG names {named!r}, and there is no such file") from None
        return {}
    except (OSError, ValueError) as wrong:
        raise BadSetting(f"{path.name} cannot be read: {wrong}") from None


def _known(key: str, known: Mapping[str, Any], where: str) -> str:
    if key in known:
        return key
    near = difflib.get_close_matches(key, known, n=1, cutoff=0.0)
    raise BadSetting(f"unknown setting {key} in {where}", where=key, hint=f"Did you mean {near[0]}?")


def reference() -> str:
    """The settings page of the docs."""
    rows = [
        "# Settings",
        "",
        "Generated by `make docs` from `src/drydock/settings.py`; do not edit by hand.",
        "",
        "Strength, strongest first: flag of `drydock serve`, `DRYDOCK_` variable, `drydock.toml` (`DRYDOCK_CONFIG` names",
        "another file), the contracts' own variable.",
        "",
        "| drydock.toml | flag | variable | also read from | default | what |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for name, field in Settings.model_fields.items():
        alias = extra(field).get("alias")
        default = "" if field.default == "" else f"`{field.default}`"
        also = f"`{alias}`" if alias else ""
        rows.append(f"| `{name}` | `{flag(name)}` | `{variable(name)}` | {also} | {default} | {field.description} |")
    return "\n".join(rows) + "\n"


if __name__ == "__main__":
    sys.stdout.write(reference())
