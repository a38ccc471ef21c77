from __future__ import annotations

import uuid
from datetime import timedelta
from typing import Any

from drydock.store.run import Run
from tests.store.rows import START


def queued(after: float = 0, caller: str = "local", **fields: Any) -> Run:
    now = START + timedelta(seconds=after)
    return Run(str(uuid.uuid4()), "native", caller, {"task": "mend it"}, now, now, **fields)
