"""A body that asks for a run, flat or nested, checked against the contract and turned into what admission asks for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, get_args
from urllib.parse import urlsplit

from drydock.agent.task import Strategy, TaskType, Trust
from drydock.dialects.polychat import policy
from drydock.dialects.polychat.fields import Fields
from drydock.run.spec import READ_ONLY, Spec
from drydock.settings import Settings

REPO = re.compile(r"(?!\.{1,2}/)[A-Za-z0-9_.-]+/(?!\.{1,2}\Z)[A-Za-z0-9_.-]+")
RUN_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")
SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:.+", re.DOTALL)
TYPES = get_args(TaskType)
STRATEGIES = ("auto", *get_args(Strategy))
TRUSTS = get_args(Trust)
LEAST_S, MOST_S = 30, 7200
LONGEST_TASK = 1 << 20
MODEL = "mistral-large"
"""What the contract asks when neither the body nor the server names a model."""


@dataclass(frozen=True, slots=True)
class Ordered:
    """What a body said."""

    spec: Spec
    user: int | None
    run_id: str | None
    installation: int | None
    callback: str


class Orders:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def worker(self, body: Mapping[str, Any]) -> Ordered:
        """The worker's body, in either form: both give the same run."""
        params = body.get("params")
        if not isinstance(params, dict):
            return self._read(Fields(body), "worker", body.get("taskType"))
        inner = {name: value for name, value in body.items() if name not in ("task", "params")}
        return self._read(Fields(params, inner), "worker", body.get("task", params.get("taskType")))

    def users(self, body: Mapping[str, Any], origin: str) -> Ordered:
        """A user's. One that starts a run of his own names the installation that it works for."""
        known = {name: value for name, value in body.items() if name not in ("userId", "polychatApiUrl")}
        return self._read(Fields(known), origin, body.get("taskType"))

    def _read(self, fields: Fields, origin: str, type_told: Any) -> Ordered:
        typed = Fields({"taskType": type_told})
        task_type: TaskType = typed.one_of("taskType", TYPES, "feature-implementation")
        seconds, asked = self._seconds(fields)
        installation = fields.whole("installationId", 1, (1 << 53) - 1, required=origin == "api")
        callback = fields.text("polychatApiUrl", 2048)
        if callback and not _is_url(callback):
            fields.note("polychatApiUrl", "must be a URL")
        fields.whole("inspectionWindowSeconds", 0, 3600)
        rounds, depth = fields.whole("repairRounds", 0, 5), fields.whole("cloneDepth", 0, 1_000_000)
        user, run_id = fields.whole("userId", 1), fields.text("runId", 4096)
        how = policy.delivery(fields)
        tests = fields.flag("generateTests") and task_type == "test-suite"
        extra = {"origin": origin, "callback": callback}
        spec = Spec(
            task=fields.text("task", LONGEST_TASK, required=True),
            repo=fields.matching("repo", REPO, "owner/name", required=True),
            task_type=task_type,
            model=fields.text("model", 512) or self._settings.model or MODEL,
            strategy=fields.one_of("promptStrategy", STRATEGIES, "auto"),
            trust=fields.one_of("trustLevel", TRUSTS, "balanced"),
            # What a policy delivers needs a person's yes, for which there is no place yet: the patch is kept instead.
            commit=fields.flag("shouldCommit") and not how,
            generate_tests=tests,
            clone_depth=1 if depth is None else depth,
            timeout_ms=seconds * 1000,
            timeout_requested_ms=asked * 1000 if asked > seconds else None,
            repair_rounds=0 if task_type in READ_ONLY and not tests else 2 if rounds is None else rounds,
            single_commands=True,
            delivery=how,
            model_settings=policy.model_settings(fields),
            follow_up_of=fields.text("followUpOf", 128) or None,
            announced=origin != "worker",
            extra={name: value for name, value in extra.items() if value},
        )
        fields.problems += typed.problems
        fields.done()
        return Ordered(spec, user, run_id if RUN_ID.fullmatch(run_id) else None, installation, callback)

    def _seconds(self, fields: Fields) -> tuple[int, int]:
        """What the run gets, and what was asked for."""
        most = max(LEAST_S, self._settings.run_max_timeout)
        asked = fields.whole("timeoutSeconds", LEAST_S, MOST_S)
        wanted = max(LEAST_S, self._settings.run_timeout) if asked is None else asked
        return min(wanted, most), asked or 0


WORDS: Mapping[TaskType, str] = {
    "feature-implementation": "feature",
    "bug-fix": "fix",
    "refactoring": "refactor",
    "documentation": "docs",
    "migration": "chore",
    "test-suite": "test",
}


def branch_of(spec: Spec) -> str:
    """The branch that its commit goes to, unless it follows a run that has one; empty when none is asked for."""
    if not spec.commits:
        return ""
    return f"polychat/{WORDS.get(spec.task_type, 'feature')}-{int(datetime.now(UTC).timestamp() * 1000)}"


def is_plain(url: str) -> bool:
    """http or https, and nobody's name or password in it."""
    parts = urlsplit(url)
    return parts.scheme.lower() in ("http", "https") and "@" not in parts.netloc


def _is_url(text: str) -> bool:
    if not SCHEME.fullmatch(text) or any(character.isspace() for character in text):
        return False
    try:
        parts = urlsplit(text)
        port_is_one = parts.port is None or parts.port >= 0
    except ValueError:
        return False
    return port_is_one and (parts.scheme.lower() not in ("http", "https") or bool(parts.hostname))
