"""The body of POST /v1/runs, checked and turned into what the room of runs asks for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

from drydock.agent.task import Strategy, TaskType, Trust
from drydock.api.executions.fields import Fields
from drydock.errors import Invalid, ModelMissing
from drydock.forge.git.refs import check_new_branch, check_ref, is_sha
from drydock.forge.git.source import Sources
from drydock.model.models import Models
from drydock.run.admission import Asked
from drydock.run.spec import Limits, Spec
from drydock.settings import Settings
from drydock.store.runs import Quota

FIELDS = (
    "task",
    "repo",
    "branch",
    "new_branch",
    "type",
    "model",
    "strategy",
    "trust",
    "commit",
    "generate_tests",
    "clone_depth",
    "timeout_ms",
    "repair_rounds",
    "limits",
    "model_settings",
    "ask_for_more",
    "follow_up_of",
    "client_id",
    "wait",
)
LIMITS = ("steps", "commands", "tokens", "usd", "command_ms", "wall_ms")
TYPES: Sequence[TaskType] = get_args(TaskType)
STRATEGIES: Sequence[Strategy] = get_args(Strategy)
TRUSTS: Sequence[Trust] = get_args(Trust)
LONGEST_TASK = 100_000
LONGEST_NAME = 512
CLIENT_ID = "A-Z a-z 0-9 . _ : -"
MOST_STEPS = 1000
LONGEST_MS = 24 * 3_600_000
MOST_ROUNDS = 5


class RunOrders:
    def __init__(self, settings: Settings, quota: Quota, models: Models | None) -> None:
        """`models` are those that a run may name; None takes any name."""
        self._settings, self._quota, self._models = settings, quota, models
        self._sources = Sources.of(settings)

    def read(self, body: Any, caller: str) -> tuple[Asked, bool]:
        """What is asked for, and whether the caller wants to wait for its end."""
        fields = Fields(body, FIELDS)
        timeout_ms, requested_ms = self._timeout(fields)
        spec = Spec(
            task=_text(fields, "task", LONGEST_TASK),
            repo=_text(fields, "repo", LONGEST_NAME, ""),
            branch=_text(fields, "branch", LONGEST_NAME, ""),
            new_branch=_text(fields, "new_branch", LONGEST_NAME, ""),
            task_type=_one_of(fields, "type", TYPES, "feature-implementation"),
            model=_text(fields, "model", LONGEST_NAME, ""),
            strategy=_one_of(fields, "strategy", ("auto", *STRATEGIES), "auto"),
            trust=_one_of(fields, "trust", TRUSTS, "balanced"),
            commit=fields.boolean("commit", False),
            generate_tests=fields.boolean("generate_tests", False),
            clone_depth=fields.integer("clone_depth", 1, 0, 1_000_000),
            timeout_ms=timeout_ms,
            timeout_requested_ms=requested_ms,
            repair_rounds=_at_most(fields, "repair_rounds", 2, MOST_ROUNDS),
            limits=_limits(Fields(fields.mapping("limits"), LIMITS, "limits")),
            model_settings=dict(fields.mapping("model_settings")),
            ask_for_more=fields.boolean("ask_for_more", False),
            follow_up_of=fields.string("follow_up_of"),
        )
        self._check(spec)
        asked = Asked(spec, caller, "native", client_id=_client_id(fields), quota=self._quota)
        return asked, fields.boolean("wait", False)

    def _check(self, spec: Spec) -> None:
        """What can be known to fail is refused before anything is started."""
        if spec.repo:
            self._sources.read(spec.repo)
        if spec.branch and not is_sha(spec.branch):
            check_ref(spec.branch)
        if spec.new_branch:
            check_new_branch(spec.new_branch, where="new_branch")
        if self._models is None:
            return
        chain = self._models.catalog.chain(spec.model)
        if not any(self._models.has_key(model) for model in chain):
            raise ModelMissing(f"there is no key for the model {chain[0]}", where="model")

    def _timeout(self, fields: Fields) -> tuple[int, int | None]:
        most = self._settings.run_max_timeout * 1000
        default = min(self._settings.run_timeout * 1000, most)
        asked = fields.integer("timeout_ms", default, 1, 10**12)
        return min(asked, most), (asked if asked > most else None)


def _limits(fields: Fields) -> Limits:
    default = Limits()
    return Limits(
        steps=_at_most(fields, "steps", default.steps, MOST_STEPS, 1),
        commands=_at_most(fields, "commands", default.commands, MOST_STEPS),
        tokens=fields.integer("tokens", 0, 1, 10**12) if fields.has("tokens") else None,
        usd=fields.number("usd", 0, 0, 1e9) if fields.has("usd") else None,
        command_s=fields.integer("command_ms", 600_000, 1, LONGEST_MS) / 1000,
        wall_s=fields.integer("wall_ms", 0, 1, LONGEST_MS) / 1000 if fields.has("wall_ms") else None,
    )


def _text(fields: Fields, name: str, longest: int, default: str | None = None) -> str:
    value = fields.string(name, default)
    trimmed = (value or "").strip()
    if default is None and not trimmed:
        raise Invalid(f"{name} is empty" if value is not None else f"{name} is missing", where=name)
    if len(trimmed) > longest:
        raise Invalid(f"{name} has at most {longest} characters", where=name)
    if "\0" in trimmed:
        raise Invalid(f"{name} cannot hold NUL", where=name)
    return trimmed


def _one_of(fields: Fields, name: str, known: Sequence[Any], default: Any) -> Any:
    value = fields.string(name, default)
    if value not in known:
        raise Invalid(f"{value!r:.80} is no {name}", where=name, hint=f"One of: {', '.join(known)}.")
    return value


def _at_most(fields: Fields, name: str, default: int, most: int, least: int = 0) -> int:
    """A bound that is not quietly brought down: asking for more is a mistake."""
    value = fields.integer(name, default, least, 1 << 62)
    if value > most:
        raise Invalid(f"{fields.path(name)} must be at most {most}", where=fields.path(name))
    return value


def _client_id(fields: Fields) -> str | None:
    value = fields.string("client_id")
    if value is None:
        return None
    if not 1 <= len(value) <= 128 or not all(one.isascii() and (one.isalnum() or one in "._:-") for one in value):
        raise Invalid(f"client_id has 1 to 128 of {CLIENT_ID}", where="client_id")
    return value
