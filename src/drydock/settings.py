"""Every knob, typed, one line of explanation each. Read once by `load`, passed in; nothing else reads the environment.

Strength, strongest first: flag, DRYDOCK_ variable, drydock.toml, the contracts' own variable names, `.dev.vars`.
docs/reference/settings.md is generated from this file, and a test compares the two.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, field_validator
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError

from drydock import dev_vars
from drydock.errors import BadSetting, Invalid

MIB = 1 << 20
LANGUAGES = ("python", "golang", "node", "shell")
DEV_VARS = Path(".dev.vars")
ELSEWHERE = ("DRYDOCK_CONFIG", "DRYDOCK_URL", "DRYDOCK_API_KEY", "DRYDOCK_INDEX", "DRYDOCK_FORGE_TOKEN")
"""Variables that are ours but not the server's: where drydock.toml is, and what the commands that call it are told."""


def _whole(value: Any) -> Any:
    """Text from a variable or a flag, or an integer from drydock.toml; no `1e3`, `3.0`, `1_000` or true."""
    if isinstance(value, str) and re.fullmatch(r"[+-]?[0-9]{1,18}", value.strip()):
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise ValueError("must be a whole number")


def _number(value: Any) -> Any:
    if isinstance(value, str) and re.fullmatch(r"[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)", value.strip()):
        return float(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    raise ValueError("must be a number")


def _table(value: Any) -> Any:
    """A table of drydock.toml, or the same as JSON in a variable or a flag."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            raise ValueError("must be a JSON object") from None
    return value


Whole = Annotated[int, BeforeValidator(_whole)]
Number = Annotated[float, BeforeValidator(_number)]
Table = Annotated[dict[str, Any], BeforeValidator(_table)]


def _knob(
    default: Any, what: str, alias: str | None = None, secret: bool = False, lenient: bool = False, **bounds: Any
) -> Any:
    """`alias` holds several names where a contract has several, the strongest first. `lenient`: its contract counts
    what is no positive whole number as not set."""
    return Field(
        default, description=what, json_schema_extra={"alias": alias, "secret": secret, "lenient": lenient}, **bounds
    )


class Settings(BaseModel):
    """What an operator can turn."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    # Where the server is
    host: str = _knob("127.0.0.1", "Address to listen on. Any but loopback needs a credential.", min_length=1)
    port: Whole = _knob(8080, "Port to listen on; 0 takes a free one and prints it.", "SANDBOX_PORT", ge=0, le=65535)
    data: Path = _knob(Path("drydock-data"), "Folder that holds all state of this server.")
    database: str = _knob("", "Database URL; empty is SQLite in the data folder.")
    objects: str = _knob("", "Object store URL; empty is a folder in the data folder.")
    only: Literal["", "code", "polychat"] = _knob("", "Serve one dialect alone, at the root, with exactly its forms.")
    root: Literal["executor", "task", "code", "polychat"] = _knob(
        "executor", "Dialect of a bare POST /execute that no rule of the routing contract decides."
    )
    bare: bool = _knob(True, "Answer the contracts' bare paths; false leaves only the prefixes.")

    # Who may call
    server_auth_token: str = _knob("", "A bearer token that opens every door.", "SERVER_AUTH_TOKEN", secret=True)
    jwt_secret: str = _knob(
        "",
        "Secret of the HS256 tokens by which users of contract `polychat` come; blanks at its ends do not count.",
        "SANDBOX_JWT_SECRET JWT_SECRET",
        secret=True,
    )
    jwt_plan: str = _knob(
        "", "Plan that a user's token must name in its claim `plan`, `pro` for instance; empty asks none."
    )
    secrets_key: str = _knob(
        "",
        "Keys that seal secrets at rest, 32 bytes in base64 each; the first seals. Empty keeps one in the data folder.",
        secret=True,
    )
    open: bool = _knob(False, "Serve without any credential on an address that is not loopback. Warned of at start.")

    # Bounds of a request
    body_limit: Whole = _knob(10 * MIB, "Largest request body in bytes.", ge=1024)
    body_limit_anonymous: Whole = _knob(MIB, "Largest body in bytes while the caller has shown no credential.", ge=1024)
    receive_timeout: Number = _knob(
        30.0, "Seconds within which a request's head, and then its body, must arrive.", gt=0
    )
    shutdown_grace: Number = _knob(10.0, "Seconds that running work gets to end after SIGTERM.", ge=0)

    # Code
    sandbox_mode: str = _knob("", "Default language; empty is the first installed.", "SANDBOX_MODE")
    max_concurrent: Whole = _knob(3, "Executions at once.", "SANDBOX_MAX_CONCURRENT", ge=1, le=1024)
    queue: Whole = _knob(1000, "Executions of the native API that may wait for a place.", ge=0)
    code_max_timeout: Whole = _knob(3600, "Longest time limit of an execution in seconds.", ge=1)
    output_dir: str = _knob("output", "Name of the output folder in the work folder.", "SANDBOX_OUTPUT_DIR")
    python_index: str = _knob(
        "", "Package index for Python requirements; empty is uv's own default.", "SANDBOX_PYTHON_INDEX"
    )
    python: Path = _knob(Path("/usr/bin/python3"), "Interpreter that runs Python code in the boxes.")
    retention: Number = _knob(7 * 86400.0, "Seconds that an ended execution's result is kept.", ge=0)

    # Packages
    npm_index: str = _knob("", "Package registry for Node requirements; empty is npm's own default.")
    python_index_allow: str = _knob(
        "", "Hosts, as `a.example,b.example:8443`, that a request's `python_index` may name beside the server's own."
    )
    allow_url_requirements: bool = _knob(False, "Take requirements that are the https address of a file.")
    offline: bool = _knob(False, "Install nothing: serve requirements from the layers that are there.")
    layer_bytes: Whole = _knob(2048 * MIB, "Largest layer of packages in bytes.", ge=MIB)
    layers_bytes: Whole = _knob(
        5120 * MIB, "Bytes of layers kept; the least recently used goes first, never one in use.", ge=MIB
    )
    envs_max: Whole = _knob(
        16, "Named environments that one caller may have; the least recently used goes first.", ge=1
    )
    envs_ttl: Number = _knob(7 * 86400.0, "Seconds unused after which a named environment goes.", gt=0)
    envs_bytes: Whole = _knob(
        5120 * MIB, "Bytes of all named environments; the least recently used goes first, never one in use.", ge=MIB
    )
    build_memory: Whole = _knob(2048 * MIB, "Memory of the box that installs packages in bytes.", ge=64 * MIB)

    # Runs: repositories
    github_server_url: str = _knob(
        "https://github.com",
        "Where a repository is that is written as `owner/name`.",
        "GITHUB_SERVER_URL",
        min_length=1,
    )
    git_hosts_allow: str = _knob(
        "", "Hosts, as `a.example,b.example:8443`, that may be cloned from at private addresses or by plain http."
    )
    git_folders: str = _knob(
        "", "Folders, as `/srv/git,/home/me`, below which repositories of this machine are cloned."
    )
    git_seconds: Number = _knob(600.0, "Seconds that one command of git may take, a clone for instance.", gt=0)
    clone_bytes: Whole = _knob(
        2048 * MIB, "Largest repository in bytes, packed and spread out alike; its disk is three times that.", ge=MIB
    )
    commit_name: str = _knob("Drydock", "Author of the commits that runs deliver.", min_length=1)
    commit_email: str = _knob("drydock@localhost", "Address of that author.", min_length=1)
    protected_branches: str = _knob(
        "main,master,trunk,release/*", "Branches that no run writes, with `*` and `?`, beside the default one."
    )

    # Runs
    role: Literal["all", "api", "worker"] = _knob(
        "all", "What this process does with runs: takes them in and carries them, or one of the two."
    )
    max_runs: Whole = _knob(0, "Runs that this worker carries at once; 0 is twice its processors.", ge=0)
    run_timeout: Whole = _knob(
        900,
        "Seconds that a run gets which asks for no limit of its own.",
        "SANDBOX_DEFAULT_TIMEOUT_SECONDS",
        lenient=True,
        ge=1,
    )
    run_max_timeout: Whole = _knob(
        7200, "Longest time limit of a run in seconds.", "SANDBOX_MAX_TIMEOUT_SECONDS", lenient=True, ge=1
    )
    run_memory: Whole = _knob(2048 * MIB, "Memory of the box that a run works in, in bytes.", ge=64 * MIB)
    run_disk: Whole = _knob(8192 * MIB, "Disk of the box that a run works in, in bytes.", ge=64 * MIB)
    run_snapshot: Whole = _knob(4096 * MIB, "Largest snapshot of a run's workspace in bytes.", ge=MIB)
    frozen_boxes: Whole = _knob(
        20, "Paused commands that are kept frozen; beyond that a paused run's command is broken off.", ge=0
    )
    user_concurrent: Whole = _knob(
        2, "Runs that one user may have at once who comes by token.", "SANDBOX_MAX_CONCURRENT_RUNS", lenient=True, ge=1
    )
    user_per_minute: Whole = _knob(
        4,
        "Runs that one such user may start within a minute.",
        "SANDBOX_MAX_RUN_STARTS_PER_MINUTE",
        lenient=True,
        ge=1,
    )
    user_per_day: Whole = _knob(
        25, "Runs that one such user may start within a day.", "SANDBOX_MAX_RUNS_PER_DAY", lenient=True, ge=1
    )
    quota_concurrent: Whole = _knob(0, "Runs that one caller may have at once; 0 is no limit.", ge=0)
    quota_per_minute: Whole = _knob(0, "Runs that one caller may start within a minute; 0 is no limit.", ge=0)
    quota_per_day: Whole = _knob(0, "Runs that one caller may start within a day; 0 is no limit.", ge=0)

    # Models
    model: str = _knob("", "Model that is asked where none is named: an alias of `[models]` or `provider:name`.")
    models: Table = _knob(
        {}, "Aliases of models, the table `[models]`; as JSON in a variable or flag. See docs/guides/models.md."
    )
    anthropic_api_key: str = _knob("", "Key of Anthropic's API.", "ANTHROPIC_API_KEY", secret=True)
    openai_api_key: str = _knob("", "Key of OpenAI's API.", "OPENAI_API_KEY", secret=True)
    mistral_api_key: str = _knob("", "Key of Mistral's API.", "MISTRAL_API_KEY", secret=True)
    google_api_key: str = _knob("", "Key of Google's Gemini API.", "GOOGLE_API_KEY", secret=True)
    anthropic_base_url: str = _knob(
        "https://api.anthropic.com", "Address of Anthropic's API.", "ANTHROPIC_BASE_URL", min_length=1
    )
    openai_base_url: str = _knob(
        "https://api.openai.com/v1", "Address of OpenAI's API, or of one like it.", "OPENAI_BASE_URL", min_length=1
    )
    mistral_base_url: str = _knob(
        "https://api.mistral.ai", "Address of Mistral's API.", "MISTRAL_BASE_URL", min_length=1
    )
    google_base_url: str = _knob(
        "https://generativelanguage.googleapis.com", "Address of Google's Gemini API.", "GOOGLE_BASE_URL", min_length=1
    )
    model_timeout: Number = _knob(600.0, "Seconds that one answer of a model may take.", gt=0)

    # Boxes
    isolation: Literal["box", "gvisor", "process"] = _knob(
        "box",
        "How code is walled in: `box`; `gvisor`, with a second kernel; `process`, with no walls at all, for trying "
        "things on a host without namespaces. A request may ask for a stronger one.",
    )
    memory: Whole = _knob(512 * MIB, "Memory of a box in bytes, its work folder counted apart.", ge=16 * MIB)
    work_bytes: Whole = _knob(512 * MIB, "Bytes that a box may write to its work and temporary folders.", ge=MIB)
    inodes: Whole = _knob(65536, "Files and folders that a box may hold.", ge=64)
    processes: Whole = _knob(128, "Processes and threads at once in a box.", ge=4)
    file_bytes: Whole = _knob(64 * MIB, "Largest single file that a program may write.", ge=MIB)
    open_files: Whole = _knob(256, "Open files of one process in a box.", ge=32)
    cpus: Number = _knob(1.0, "Processors that a box may use.", gt=0)
    output_bytes: Whole = _knob(10 * MIB, "Bytes kept of each output stream; the rest is read and counted.", ge=1024)
    uid_base: Whole = _knob(300000, "First host uid of the boxes when the server runs as root; one uid each.", ge=1000)

    # What is told
    log_level: Literal["debug", "info", "warning", "error"] = _knob("info", "Least severe line of the log.")

    @field_validator("output_dir")
    @classmethod
    def _one_plain_name(cls, value: str) -> str:
        if value in ("", ".", "..") or "/" in value or not value.isprintable() or len(value.encode()) > 255:
            raise ValueError("must be one plain name, no `/` and no `..`")
        return value

    @field_validator("sandbox_mode")
    @classmethod
    def _known_language(cls, value: str) -> str:
        if value and value not in LANGUAGES:
            # The wording is the code contract's, and it already shows the value.
            words: dict[str, Any] = {"mode": value, "all": ", ".join(LANGUAGES)}
            raise PydanticCustomError("complete", 'unsupported mode "{mode}" (supported: {all})', words)
        return value


@dataclass(frozen=True, slots=True)
class Told:
    """A value, and where it was said, for the message when it is wrong."""

    value: Any
    where: str


def flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def variable(name: str) -> str:
    return "DRYDOCK_" + name.upper()


def aliases(name: str) -> Sequence[str]:
    """The contracts' own variables for it, the strongest first."""
    return str(_extra(Settings.model_fields[name])["alias"] or "").split()


def is_secret(name: str) -> bool:
    """A secret has no flag, since every user of the machine can read a command line, and is never shown."""
    return bool(_extra(Settings.model_fields[name])["secret"])


def _extra(field: FieldInfo) -> dict[str, Any]:
    return field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}


def load(flags: Mapping[str, Any] | None = None, environ: Mapping[str, str] | None = None) -> Settings:
    """Read every source once; an unknown key or a bad value is a BadSetting that says where it stands."""
    environ = os.environ if environ is None else environ
    told: dict[str, Told] = {}
    # Weakest first: what comes later replaces what came before.
    copied = _dev_vars()
    told |= _from_aliases(copied, " in .dev.vars")
    told |= _from_variables(copied, " in .dev.vars")
    told |= _from_aliases(environ)
    told |= _from_toml(environ)
    told |= _from_variables(environ)
    told |= {name: Told(value, flag(name)) for name, value in (flags or {}).items() if value is not None}
    try:
        return Settings(**{name: each.value for name, each in told.items()})
    except ValidationError as wrong:
        raise _bad(wrong, told) from None


def _bad(wrong: ValidationError, told: Mapping[str, Told]) -> BadSetting:
    first = wrong.errors(include_url=False)[0]
    name = str(first["loc"][0])
    reason = first["msg"].removeprefix("Value error, ")
    complete = first["type"] == "complete" or is_secret(name)
    shown = "" if complete else f", not {told[name].value!r}"
    return BadSetting(f"{told[name].where}: {reason}{shown}", where=told[name].where)


def _from_aliases(variables: Mapping[str, str], suffix: str = "") -> dict[str, Told]:
    """An empty variable is one that is not set, as everywhere below: compose files and templates leave such behind."""
    return {
        name: Told(variables[key], key + suffix)
        for name in Settings.model_fields
        for key in [next((key for key in aliases(name) if _counts(name, variables.get(key, ""))), "")]
        if key
    }


def _counts(name: str, text: str) -> bool:
    """Whether a contract's variable says anything."""
    if _extra(Settings.model_fields[name])["lenient"]:
        return bool(re.fullmatch(r"0*[1-9][0-9]{0,9}", text.strip()))
    return bool(text.strip() if len(aliases(name)) > 1 else text)


def _from_variables(variables: Mapping[str, str], suffix: str = "") -> dict[str, Told]:
    names = {variable(name): name for name in Settings.model_fields}
    where = suffix.removeprefix(" in ") or "the environment"
    told = {}
    for key, text in variables.items():
        if key.startswith("DRYDOCK_") and key not in ELSEWHERE:
            name = names[_known(key, names, where)]
            if text:
                told[name] = Told(text, key + suffix)
    return told


def _from_toml(environ: Mapping[str, str]) -> dict[str, Told]:
    named = environ.get("DRYDOCK_CONFIG")
    path = Path(named or "drydock.toml")
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        if named:
            raise BadSetting(f"DRYDOCK_CONFIG names {named!r}, and there is no such file", where=named) from None
        return {}
    except (OSError, ValueError) as wrong:
        raise BadSetting(f"{path.name} cannot be read: {wrong}", where=path.name) from None
    known = Settings.model_fields
    return {_known(name, known, path.name): Told(value, f"{name} in {path.name}") for name, value in table.items()}


def _dev_vars() -> dict[str, str]:
    try:
        return dev_vars.parse(DEV_VARS.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except Invalid as wrong:
        raise BadSetting(
            f"{DEV_VARS}: {wrong.message}", where=f"{DEV_VARS}, {wrong.where}", hint=wrong.remedy
        ) from None
    except (OSError, ValueError) as wrong:
        raise BadSetting(f"{DEV_VARS} cannot be read: {wrong}", where=str(DEV_VARS)) from None


def _known(key: str, known: Mapping[str, Any], where: str) -> str:
    if key in known:
        return key
    nearest = max(known, key=lambda candidate: _likeness(key, candidate))
    raise BadSetting(f"unknown setting {key} in {where}", where=key, hint=f"Did you mean {nearest}?")


def _likeness(one: str, other: str) -> float:
    """In order and out of it, so that swapped letters (PROT) stay close to what was meant (PORT, not ROOT)."""
    in_order = difflib.SequenceMatcher(None, one, other).ratio()
    return in_order + difflib.SequenceMatcher(None, sorted(one), sorted(other)).ratio()


def reference() -> str:
    """The settings page of the docs."""
    rows = [
        "# Settings",
        "",
        "Generated by `make docs` from `src/drydock/settings.py`; do not edit by hand.",
        "",
        "Strength, strongest first: flag of `drydock serve`, `DRYDOCK_` variable, `drydock.toml` in the current folder",
        "(`DRYDOCK_CONFIG` names another file), the contracts' own variable, `.dev.vars` in the current folder",
        "(`.dev.vars.example` is there to copy; it takes both kinds of variable names).",
        "",
        "An empty variable counts as not set. An unknown `DRYDOCK_` variable or key of `drydock.toml` stops the start",
        "and names the nearest right one. A secret has no flag, since every user of a machine can read its command",
        "lines.",
        "",
        "| drydock.toml | flag | variable | also read from | default | what |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for name, field in Settings.model_fields.items():
        default = "" if field.default == "" else f"`{_spelled(field.default)}`"
        also = ", ".join(f"`{each}`" for each in aliases(name))
        by_flag = "" if is_secret(name) else f"`{flag(name)}`"
        rows.append(f"| `{name}` | {by_flag} | `{variable(name)}` | {also} | {default} | {field.description} |")
    return "\n".join(rows) + "\n"


def _spelled(value: Any) -> str:
    """As one writes it in drydock.toml and everywhere else: `true`, not `True`."""
    return str(value).lower() if isinstance(value, bool) else str(value)
