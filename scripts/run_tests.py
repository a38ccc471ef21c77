"""Run the tests in phases and close with one line that sums them up: `N passed, N failed, N skipped`.

Tests marked `serial` assert on time, so they run in a phase of their own once the others no longer load the machine.
Exits 0 only when every phase ran to its end and nothing failed.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

SIDE_BY_SIDE = ("-n", "2", "--dist", "worksteal")
"""Most tests wait for boxes and servers, not for a processor."""
PHASES: dict[str, dict[str, Sequence[str]]] = {
    "short": {"not long and not serial": SIDE_BY_SIDE, "serial and not long": ()},
    "long": {"long and not serial": (), "long and serial": ()},
}
"""What is selected, and how it is run."""
NO_TESTS = 5
"""pytest's exit code when a selection is empty: right for a phase, wrong for the whole."""


@dataclass
class Tally:
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def add(self, other: Tally) -> None:
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def read_report(report: Path) -> Tally:
    """A test that fails and then fails again in its tear-down is reported twice; each counts."""
    tally = Tally()
    for suite in ET.parse(report).getroot().iter("testsuite"):
        failed = int(suite.get("failures", 0)) + int(suite.get("errors", 0))
        skipped = int(suite.get("skipped", 0))
        tally.add(Tally(max(0, int(suite.get("tests", 0)) - failed - skipped), failed, skipped))
    return tally


def run_phase(selection: str, arguments: list[str], report: Path) -> Tally:
    """A phase that broke off without naming a failure (a crash, a usage error) counts as one failure itself."""
    print(f"\n== {selection}", flush=True)
    command = [sys.executable, "-m", "pytest", "-m", selection, f"--junitxml={report}", *arguments]
    code = subprocess.run(command).returncode
    tally = read_report(report) if report.exists() else Tally()
    if code not in (0, NO_TESTS) and tally.failed == 0:
        tally.failed = 1
    return tally


def main(purpose: str, arguments: list[str]) -> int:
    total = Tally()
    with tempfile.TemporaryDirectory(prefix="drydock-tests-") as folder:
        for number, (selection, how) in enumerate(PHASES[purpose].items()):
            total.add(run_phase(selection, [*how, *arguments], Path(folder) / f"{number}.xml"))
    print(f"\n{total}", flush=True)
    if total.passed + total.failed == 0:
        print("no test was selected", file=sys.stderr)
        return 1
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
