"""Records to test with."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

from drydock.store.execution import Execution

START = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)


def row(caller: str = "local", after: float = 0, **fields: Any) -> Execution:
    given: dict[str, Any] = {"id": str(uuid4()), "dialect": "native", "language": "python"}
    return Execution(**{**given, "caller": caller, "created_at": START + timedelta(seconds=after), **fields})
