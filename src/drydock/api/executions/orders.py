"""The body of POST /v1/executions, checked and turned into an order."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from drydock.api.executions.fields import Fields, check_string, content
from drydock.api.executions.live import Order
from drydock.api.executions.names import bad_name
from drydock.box.tier import Isolation
from drydock.code.executor import Executor
from drydock.code.request import ExecutionRequest
from drydock.egress.grants import Ecosystem
from drydock.errors import Invalid, NotFound, Unavailable
from drydock.packages import specifiers
from drydock.packages.environments import check_name
from drydock.packages.packages import Packages
from drydock.packages.wanted import ECOSYSTEMS, Name, Wanted
from drydock.settings import Settings

FIELDS = (
    "language",
    "code",
    "argv",
    "files",
    "env",
    "stdin",
    "requirements",
    "index",
    "environment",
    "limits",
    "isolation",
    "outputs",
    "wait",
    "label",
)
LIMITS = ("timeout_ms", "memory_bytes", "processes", "cpus")
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,255}")
RESERVED = ("OUTPUT_DIR",)
MOST_ARGUMENTS = 256
MOST_VARIABLES = 256
MOST_ENV_BYTES = 64 * 1024
MOST_OUTPUTS = 64
LONGEST_LABEL = 128
DEFAULT_TIMEOUT_MS = 30_000
LEAST_MEMORY = 16 << 20
LEAST_PROCESSES = 4
LEAST_CPUS = 0.01


class Orders:
    def __init__(self, settings: Settings, executor: Executor) -> None:
        self._settings = settings
        self._executor = executor

    def read(self, body: Any, caller: str) -> tuple[Order, bool]:
        """The order, and whether the caller wants to wait for its end."""
        fields = Fields(body, FIELDS)
        wait = fields.boolean("wait", True)
        language = self._language(fields)
        code, argv = self._program(fields)
        files = self._files(fields)
        env = self._env(fields)
        stdin = content(fields.raw("stdin"), "stdin") if fields.has("stdin") else b""
        limits = self._limits(Fields(fields.mapping("limits"), LIMITS, "limits"))
        outputs = self._outputs(fields)
        label = fields.string("label")
        if label is not None and len(label) > LONGEST_LABEL:
            raise Invalid(f"label must have at most {LONGEST_LABEL} characters", where="label")
        if label is not None and "\0" in label:
            raise Invalid("label cannot hold NUL", where="label")
        isolation = self._isolation(fields)
        packages = self._packages(fields, language, caller)
        request = ExecutionRequest(
            language=language,
            code=code,
            argv=argv,
            files=files,
            env=env,
            stdin=stdin,
            isolation=isolation,
            outputs=outputs,
            timeout_ms=int(limits["timeout_ms"]),
            memory_bytes=int(limits["memory_bytes"]),
            processes=int(limits["processes"]),
            cpus=float(limits["cpus"]),
            packages=packages,
        )
        summary = {"limits": dict(limits), "isolation": isolation or self._executor.isolation}
        order = Order(request, "native", caller, queue=True, streamed=True, label=label, summary=summary)
        return order, wait

    def _language(self, fields: Fields) -> str:
        language = fields.string("language", self._executor.default_language)
        assert language is not None
        available = self._executor.languages
        if language not in available:
            raise Invalid(
                f"language {language[:64]!r} is not available",
                where="language",
                hint=f"Available here: {', '.join(available)}.",
            )
        return language

    def _program(self, fields: Fields) -> tuple[str | None, list[str] | None]:
        code, argv = fields.string("code"), fields.strings("argv", MOST_ARGUMENTS)
        if (code is None) == (argv is None):
            raise Invalid("give either code or argv", where="code", hint="Send exactly one of the two.")
        if code == "":
            raise Invalid("code is empty", where="code")
        if argv is not None and (not argv or not argv[0]):
            raise Invalid("argv needs a program as its first entry", where="argv")
        for place, argument in enumerate(argv or ()):
            if "\0" in argument:
                raise Invalid("an argument cannot hold NUL", where=f"argv[{place}]")
        return code, argv

    def _files(self, fields: Fields) -> Mapping[str, bytes]:
        files = fields.mapping("files")
        wrong = bad_name(files, self._settings.output_dir)
        if wrong is not None:
            raise Invalid(
                f"invalid file name {wrong[:200]!r}",
                where="files",
                hint="Use a relative path with no `.` or `..`, outside the output folder and below no other file.",
            )
        return {name: content(value, f"files[{name[:200]!r}]") for name, value in files.items()}

    def _env(self, fields: Fields) -> Mapping[str, str]:
        env = fields.mapping("env")
        if len(env) > MOST_VARIABLES:
            raise Invalid(f"env holds {len(env)} variables; at most {MOST_VARIABLES} are allowed", where="env")
        size = 0
        for name, value in env.items():
            if not VARIABLE.fullmatch(name):
                raise Invalid(
                    f"{name[:64]!r} cannot be the name of a variable",
                    where="env",
                    hint="Use letters, digits and `_`, not beginning with a digit.",
                )
            if name in RESERVED:
                raise Invalid(f"{name} is set by the box", where=f"env.{name}", hint="Use another name.")
            check_string(value, f"env.{name}")
            if "\0" in value:
                raise Invalid("a variable cannot hold NUL", where=f"env.{name}")
            size += len(name) + len(value.encode())
        if size > MOST_ENV_BYTES:
            raise Invalid(f"env is over {MOST_ENV_BYTES} bytes in all", where="env", hint="Send a file instead.")
        return env

    def _packages(self, fields: Fields, language: str, caller: str) -> Wanted | None:
        requirements = fields.strings("requirements", specifiers.MOST)
        index, environment = fields.string("index"), fields.string("environment")
        ecosystem = ECOSYSTEMS.get(language)
        if ecosystem is None:
            if requirements or index or environment:
                raise Invalid(
                    f"{language} has no packages that could be installed",
                    where="requirements",
                    hint=f"Requirements are for {' and '.join(ECOSYSTEMS)}.",
                )
            return None
        specifiers.check(requirements or (), ecosystem, urls=self._settings.allow_url_requirements)
        if index is not None:
            self._installs().indexes.check(index, ecosystem)
        name = None if environment is None else Name(caller, environment)
        if name is not None:
            self._check_environment(name, ecosystem, bool(requirements))
        if not requirements and name is None:
            return None
        self._installs()
        return Wanted.of(ecosystem, requirements or (), index, name)

    def _check_environment(self, name: Name, ecosystem: Ecosystem, may_be_made: bool) -> None:
        check_name(name.name, "environment")
        found = self._installs().environments.find(name)
        if found is None and not may_be_made:
            raise NotFound(
                f"there is no environment {name.name!r}",
                where="environment",
                hint="Send requirements with it, or make it with `drydock envs create`.",
            )
        if found is not None and found.ecosystem != ecosystem:
            raise Invalid(f"{name.name!r} holds packages of another language", where="environment")

    def _installs(self) -> Packages:
        if self._executor.packages is None:
            raise Unavailable("this server installs no packages")
        return self._executor.packages

    def _limits(self, limits: Fields) -> Mapping[str, int | float]:
        most = self._settings
        return {
            "timeout_ms": limits.integer("timeout_ms", DEFAULT_TIMEOUT_MS, 1, most.code_max_timeout * 1000),
            "memory_bytes": limits.integer("memory_bytes", most.memory, LEAST_MEMORY, most.memory),
            "processes": limits.integer("processes", most.processes, LEAST_PROCESSES, most.processes),
            "cpus": limits.number("cpus", most.cpus, LEAST_CPUS, most.cpus),
        }

    def _outputs(self, fields: Fields) -> list[str] | None:
        outputs = fields.strings("outputs", MOST_OUTPUTS)
        for place, pattern in enumerate(outputs or ()):
            if not pattern or len(pattern) > 1024 or "\0" in pattern:
                raise Invalid("a pattern has 1 to 1024 characters and no NUL", where=f"outputs[{place}]")
        return outputs

    def _isolation(self, fields: Fields) -> Isolation | None:
        wanted = fields.string("isolation")
        return None if wanted is None else self._executor.check_isolation(wanted)
