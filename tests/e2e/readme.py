"""The README's first call: what it tells a reader to type, and what it says comes back."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
ADDRESS = "127.0.0.1:8080"


def first_call() -> tuple[str, dict[str, Any]]:
    text = (ROOT / "README.md").read_text("utf-8")
    found = re.search(r"## A first call\n\n```sh\n(.+?)\n```\n\n```json\n(.+?)\n```", text, re.DOTALL)
    assert found is not None, "the README has no first call in the form that is tested"
    assert ADDRESS in found[1]
    return found[1], json.loads(found[2])


def timeless(reply: dict[str, Any]) -> dict[str, Any]:
    """The reply but for the one value that differs from run to run, whose type still counts."""
    assert isinstance(reply["execution_time_ms"], int)
    return reply | {"execution_time_ms": 0}
