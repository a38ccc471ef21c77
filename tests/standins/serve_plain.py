"""The real server with the plain executor: `python -m tests.standins.serve_plain`, set by DRYDOCK_ variables."""

from __future__ import annotations

import sys

from drydock import app
from drydock.errors import CannotStart
from drydock.settings import load
from tests.standins.plain_executor import PlainExecutor


def main() -> int:
    settings = load()
    executor = PlainExecutor(settings.max_concurrent, settings.output_bytes, settings.output_dir)
    try:
        return app.serve(settings, executor)
    except CannotStart as wrong:
        sys.stderr.write(f"{wrong.message}\n  {wrong.remedy}\n")
        return 1


if __name__ == "__main__":
    sys.exit(main())
