"""Which contract a bare POST /execute is written in: routing.md section 3. The first rule that matches wins."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

Dialect = Literal["code", "task", "executor", "polychat"]

CODE = ("requirements", "files", "language", "env_name", "tool_name", "python_index")
POLYCHAT = (
    "polychatApiUrl",
    "userId",
    "installationId",
    "taskType",
    "promptStrategy",
    "shouldCommit",
    "timeoutSeconds",
    "trustLevel",
    "modelSettings",
    "runId",
)
EXECUTOR = (
    "options",
    "context",
    "project",
    "branch",
    "commitMessage",
    "paths",
    "skipCommit",
    "auto_deploy",
    "worker_name",
    "github_repo",
    "github_branch",
    "commit_message",
    "auto_commit",
    "instance_id",
    "project_id",
    "executor_type",
    "mode",
    "timeout_seconds",
    "stream",
)
SLUG = re.compile(r"[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+")
JWT = re.compile(r"bearer\s+[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Hints:
    """The headers that count."""

    authorization: str = ""
    accept: str = ""
    github_token: bool = False


class Choice(NamedTuple):
    dialect: Dialect
    rule: int


def choose(body: Mapping[str, Any], hints: Hints, root: Dialect) -> Choice:
    def has(*names: str) -> bool:
        return any(name in body for name in names)

    params = body.get("params")
    if has("code"):
        return Choice("code", 2)
    if isinstance(params, dict) and "task_id" in params and "task" not in params:
        return Choice("executor", 3)
    if has("params"):
        return Choice("polychat", 4)
    if not has("task") and has(*CODE):
        return Choice("code", 5)
    if has(*POLYCHAT):
        return Choice("polychat", 6)
    if has(*EXECUTOR):
        return Choice("executor", 7)
    if _comes_from_polychat(body, hints):
        return Choice("polychat", 8)
    if has("repo", "model"):
        return Choice("executor", 9)
    if has("task") and has("timeout"):
        return Choice("task", 10)
    return Choice(root, 11 if has("task") else 12)


def _comes_from_polychat(body: Mapping[str, Any], hints: Hints) -> bool:
    if hints.github_token or JWT.fullmatch(hints.authorization):
        return True
    repo = body.get("repo")
    return isinstance(repo, str) and bool(SLUG.fullmatch(repo)) and "text/event-stream" in hints.accept
