"""The README's first call answers as the README says."""

from __future__ import annotations

import json
import subprocess

from tests.e2e.readme import ADDRESS, first_call, timeless


def test_the_first_call_answers_as_the_readme_says(dock: str) -> None:
    command, answer = first_call()
    done = subprocess.run(
        command.replace(ADDRESS, dock.removeprefix("http://")), shell=True, capture_output=True, check=True
    )
    assert timeless(json.loads(done.stdout)) == timeless(answer)
