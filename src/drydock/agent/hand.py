"""Our hand at the site: one request to the helper program in the box, and what came back, read without belief."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from drydock.agent.site import Script, Site

WAIT_S = 30.0
MOST_BYTES = 4 << 20
SOURCE = Path(__file__).parent / "inside" / "hand.py"


@cache
def _script() -> Script:
    return Script(SOURCE.read_text("utf-8"))


@dataclass(frozen=True, slots=True)
class Told:
    """An answer out of a box. Whoever asked takes fields by the type that they must have; others read as absent."""

    data: Mapping[str, Any]

    @property
    def error(self) -> str:
        return self.text("error")

    def text(self, name: str) -> str:
        value = self.data.get(name)
        return value if isinstance(value, str) else ""

    def number(self, name: str) -> int:
        value = self.data.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) else 0

    def texts(self, name: str) -> list[str]:
        value = self.data.get(name)
        return [entry for entry in value if isinstance(entry, str)] if isinstance(value, list) else []

    def rows(self, name: str) -> list[Told]:
        value = self.data.get(name)
        return [Told(entry) for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []

    def by_name(self, name: str) -> dict[str, str]:
        value = self.data.get(name)
        if not isinstance(value, dict):
            return {}
        return {key: text for key, text in value.items() if isinstance(text, str)}


async def ask(site: Site, do: str, *, read_only: bool = True, **request: Any) -> Told:
    """The helper's answer; an `error` in it when it refused, failed or took too long."""
    body = json.dumps({"do": do, **request}).encode("utf-8", "surrogatepass")
    done = await site.run(_script(), stdin=body, timeout_s=WAIT_S, read_only=read_only)
    if not done.ok:
        return Told({"error": _why(done.reason, done.stderr)})
    if len(done.stdout) > MOST_BYTES:
        return Told({"error": "the answer of the tool is too long"})
    try:
        answer = json.loads(done.stdout)
    except (ValueError, RecursionError):
        return Told({"error": "the answer of the tool cannot be read"})
    return Told(answer if isinstance(answer, dict) else {"error": "the answer of the tool cannot be read"})


def _why(reason: str, stderr: bytes) -> str:
    if reason == "timeout":
        return f"the tool took longer than {WAIT_S:g} s and was stopped"
    last = stderr.decode("utf-8", "replace").strip().rpartition("\n")[2][:200]
    return f"the tool failed ({reason}) {last}".rstrip()
