"""`make check`: every check, all of them even when one fails, and what failed named at the end."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

BIN = Path(sys.executable).parent

CHECKS: dict[str, list[str | Path]] = {
    "format": [BIN / "ruff", "format", "--check", "--quiet", "."],
    "lint": [BIN / "ruff", "check", "--quiet", "."],
    "types": [BIN / "mypy", "--no-error-summary"],
    "layers": [BIN / "lint-imports"],
    "docs": [sys.executable, "-m", "scripts.reference", "--check"],
    "profile": [sys.executable, "-m", "scripts.outer_filter", "--check"],
    "rules": [sys.executable, "-m", "scripts.rules"],
}


def run(name: str, command: list[str | Path]) -> bool:
    """Say one line for a check that passes; show all that it said when it fails."""
    began = time.monotonic()
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    print(f"{name:8} {'ok' if done.returncode == 0 else 'FAILED'} ({time.monotonic() - began:.1f} s)", flush=True)
    if done.returncode != 0:
        print(done.stdout, flush=True)
    return done.returncode == 0


def main() -> int:
    failed = [name for name, command in CHECKS.items() if not run(name, command)]
    if failed:
        print(f"make check: {', '.join(failed)} failed", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
