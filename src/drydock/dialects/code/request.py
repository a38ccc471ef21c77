"""The body of POST execute, checked in the order that the contract gives: types, code, names and contents, the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from drydock.api.text import has_surrogate, parse, type_name
from drydock.code.executor import Executor
from drydock.code.request import ExecutionRequest
from drydock.dialects.code.files import decode_files
from drydock.dialects.code.shape import Missing
from drydock.errors import Invalid, Unavailable
from drydock.packages import specifiers
from drydock.packages.environments import check_name
from drydock.packages.packages import Packages
from drydock.packages.wanted import ECOSYSTEMS, Name, Wanted
from drydock.settings import Settings

DEFAULT_TIMEOUT = 30
LONGEST_TOOL_NAME = 128


@dataclass(frozen=True, slots=True)
class CodeRequest:
    execution: ExecutionRequest
    timeout: int
    """Seconds, in force."""
    clamped: bool
    tool_name: str | None


def read(raw: bytes) -> dict[str, Any]:
    """The JSON object of a body. An empty one of `null` counts as `{}`, as it did."""
    try:
        body = parse(raw)
    except Invalid as wrong:
        raise Invalid(f"invalid request: {wrong.message}", where=wrong.where) from None
    if body is None:
        return {}
    if not isinstance(body, dict):
        raise Invalid(f"invalid request: the body must be an object, not {type_name(body)}", where="body")
    return body


def check(body: Mapping[str, Any], settings: Settings, executor: Executor, owner: str) -> CodeRequest:
    code = string(body, "code")
    asked = _integer(body, "timeout_seconds")
    requirements = strings(body, "requirements")
    files = _files(body)
    named = string(body, "language")
    language = executor.default_language if named is None else named
    environment = string(body, "env_name")
    index = string(body, "python_index")
    tool_name = string(body, "tool_name")
    if not code:
        raise Invalid("code is required", where="code")
    if has_surrogate(code):
        raise Invalid("invalid request: code holds half of a surrogate pair, which is no character", where="code")
    contents = decode_files(files, settings.output_dir)
    _check_language(language, executor)
    name = None if environment is None else Name(owner, environment)
    wanted = _wanted(language, requirements, index, name, executor, urls=settings.allow_url_requirements)
    if tool_name is not None and len(tool_name) > LONGEST_TOOL_NAME:
        raise Invalid(f"tool_name must have at most {LONGEST_TOOL_NAME} characters", where="tool_name")
    timeout = min(asked, settings.code_max_timeout) if asked is not None and asked > 0 else DEFAULT_TIMEOUT
    timeout = min(timeout, settings.code_max_timeout)
    return CodeRequest(
        ExecutionRequest(language=language, code=code, files=contents, timeout_ms=timeout * 1000, packages=wanted),
        timeout,
        asked is not None and asked > timeout,
        None if tool_name is None else _storable(tool_name),
    )


def _wanted(
    language: str, requirements: Sequence[str], index: str | None, name: Name | None, executor: Executor, *, urls: bool
) -> Wanted | None:
    """What has to be there before the code runs. The languages without packages ignore requirements."""
    ecosystem = ECOSYSTEMS.get(language)
    if name is not None:
        check_name(name.name, "env_name")
        if ecosystem is None:
            raise Invalid(f'env_name "{name.name}" cannot be used with {language}', where="env_name")
    if ecosystem is None:
        return None
    specifiers.check(requirements, ecosystem, urls=urls)
    index = index if ecosystem == "pypi" else None
    if index is not None:
        packages_of(executor).indexes.check(index, ecosystem, "python_index")
    if name is not None:
        found = packages_of(executor).environments.find(name)
        if found is None and not requirements:
            raise Missing(f'environment "{name.name}" not found', where="env_name")
        if found is not None and found.ecosystem != ecosystem:
            raise Invalid(f'env_name "{name.name}" holds packages of another language', where="env_name")
    return Wanted.of(ecosystem, requirements, index, name) if requirements or name else None


def packages_of(executor: Executor) -> Packages:
    if executor.packages is None:
        raise Unavailable("this server installs no packages")
    return executor.packages


def _storable(text: str) -> str:
    """Neither NUL nor half a surrogate pair goes into every database."""
    return text.encode("utf-8", "replace").decode().replace("\0", "\ufffd")


def _check_language(language: str, executor: Executor) -> None:
    if language not in executor.languages:
        available = ", ".join(executor.languages)
        raise Invalid(f'language "{language[:64]}" is not available (available: {available})', where="language")


def string(body: Mapping[str, Any], name: str) -> str | None:
    value = body.get(name)
    if value is not None and not isinstance(value, str):
        raise _wrong_type(name, "a string", value)
    return value


def _integer(body: Mapping[str, Any], name: str) -> int | None:
    value = body.get(name)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
        raise _wrong_type(name, "an integer", value)
    return value


def strings(body: Mapping[str, Any], name: str) -> Sequence[str]:
    value = body.get(name)
    if value is None:
        return []
    if not isinstance(value, list):
        raise _wrong_type(name, "an array of strings", value)
    for place, entry in enumerate(value):
        if not isinstance(entry, str):
            raise _wrong_type(f"{name}[{place}]", "a string", entry)
    return value


def _files(body: Mapping[str, Any]) -> Mapping[str, str]:
    value = body.get("files")
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _wrong_type("files", "an object", value)
    for name, text in value.items():
        if not isinstance(text, str):
            raise _wrong_type(f'files["{name}"]', "a string", text)
    return value


def _wrong_type(name: str, wanted: str, value: Any) -> Invalid:
    return Invalid(f"invalid request: {name} must be {wanted}, not {type_name(value)}", where=name)
