"""What an operator is told when the server has started: what is in force, what is missing, and what is risky."""

from __future__ import annotations

from drydock.access.gate import has_credential, is_loopback
from drydock.access.keys import Snapshot
from drydock.code.executor import Executor
from drydock.model.models import Models
from drydock.settings import Settings


def notices(settings: Settings, executor: Executor, keys: Snapshot, models: Models, host: str) -> list[str]:
    """One line each. `host` is the address that is listened on."""
    told = [f"Isolation: {executor.isolation}; languages: {', '.join(executor.languages)}"]
    told += [f"Not promised here: {lost}" for lost in executor.lost_promises]
    if executor.isolation == "process":
        told.append(
            "Warning: isolation is `process`; code sees this host, its files, processes and network, behind no wall"
        )
    if not has_credential(settings, keys):
        told.append(
            "No key is configured: callers on this machine need none (`drydock keys add NAME` makes one)"
            if is_loopback(host)
            else "Warning: DRYDOCK_OPEN is set and no key is configured; everybody who can reach this is served"
        )
    if settings.only == "" and (lacking := _lacking_model(models)):
        told.append(lacking)
    return told


def _lacking_model(models: Models) -> str:
    """Empty when the default model, or one that stands in for it, can be asked."""
    if not models.catalog.default:
        return "No model is named: runs must name theirs, or set DRYDOCK_MODEL (docs/guides/models.md)"
    chain = models.catalog.chain()
    if any(models.has_key(model) for model in chain):
        return ""
    return f"There is no key for the model {chain[0]}: `drydock models` shows which keys are there"
