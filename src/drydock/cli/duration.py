"""A time as one types it."""

from __future__ import annotations

import re
from typing import Any

import click

UNITS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000}


class Duration(click.ParamType[Any]):
    """Milliseconds from `10s`, `500ms`, `1.5m`, or bare seconds."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        found = re.fullmatch(r"([0-9]{1,9}(?:[.][0-9]{1,6})?)(ms|s|m|h)?", str(value))
        milliseconds = round(float(found[1]) * UNITS[found[2] or "s"]) if found else 0
        if milliseconds < 1:
            self.fail(f"{value!r} is not a time: write 10s, 500ms or 2m", param, ctx)
        return milliseconds
