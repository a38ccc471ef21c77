"""A measured figure, its bound, and the page that keeps what was measured when and where."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

RESULTS = Path(__file__).with_name("results.md")


@dataclass(frozen=True)
class Figure:
    name: str
    value: float
    bound: float
    sense: Literal["at most", "at least"]
    unit: str = "x"
    detail: Mapping[str, float] = field(default_factory=dict)
    """What the value was made from."""

    @property
    def holds(self) -> bool:
        return self.value <= self.bound if self.sense == "at most" else self.value >= self.bound

    def __str__(self) -> str:
        parts = ", ".join(f"{name} {value:.4g}" for name, value in self.detail.items())
        verdict = "pass" if self.holds else "FAIL"
        return f"{verdict}  {self.name}: {self.value:.3g} {self.unit} ({self.sense} {self.bound:g})  [{parts}]"


def as_json(figures: Sequence[Figure]) -> str:
    told = [asdict(figure) | {"holds": figure.holds} for figure in figures]
    return json.dumps({"machine": machine(), "figures": told}, indent=2)


def machine() -> str:
    model = "unknown processor"
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    return f"{model}, {os.cpu_count()} cores, Linux {platform.release()}, Python {platform.python_version()}"


def note(figures: Sequence[Figure]) -> None:
    """Append to results.md; nothing that was noted before is touched."""
    began = RESULTS.exists()
    with RESULTS.open("a") as page:
        if not began:
            page.write("# What was measured\n\nAppended to by `make bench`; the newest stands last.\n")
        page.write(f"\n## {datetime.now(UTC):%Y-%m-%d %H:%M} UTC\n\n{machine()}\n\n")
        page.write("| figure | measured | bound | | made from |\n| --- | --- | --- | --- | --- |\n")
        for each in figures:
            parts = ", ".join(f"{name} {value:.4g}" for name, value in each.detail.items())
            verdict = "pass" if each.holds else "**fail**"
            page.write(
                f"| {each.name} | {each.value:.3g} {each.unit} | {each.sense} {each.bound:g} | {verdict} | {parts} |\n"
            )
