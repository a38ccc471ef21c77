"""Why an installation did not come about, in words for whoever asked for it."""

from __future__ import annotations

from collections.abc import Sequence

from drydock.egress.denial import Denial
from drydock.errors import Invalid
from drydock.packages.report import Report

MOST_OUTPUT = 32 * 1024
MOST_DENIALS = 8


class InstallFailed(Invalid):
    """The packages could not be installed; nothing was run, nothing is kept."""

    def __init__(self, reason: str, output: str = "") -> None:
        super().__init__(
            f"package installation failed: {reason}",
            where="requirements",
            hint="The installer's own words say which package is at fault.",
        )
        self.output = output[-MOST_OUTPUT:]
        self.denials: Sequence[Denial] = ()
        self.time_ms = 0

    @property
    def report(self) -> Report:
        return Report(False, self.time_ms, "", (), self.denials)

    @property
    def text(self) -> str:
        """All of it, as a program's error stream would have it."""
        refused = dict.fromkeys(f"relay: {denial.sentence}" for denial in self.denials)
        lines = [self.message, self.output.strip(), *list(refused)[:MOST_DENIALS]]
        return "\n".join(line for line in lines if line) + "\n"
