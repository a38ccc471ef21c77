"""What a server of each role serves of runs."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

from tests.standins.server import Server


@pytest.mark.parametrize(("role", "status"), [("all", 200), ("api", 200), ("worker", 404)])
def test_doors_of_runs_are_there_unless_the_role_is_worker(
    role: Literal["all", "api", "worker"], status: int, tmp_path: Path
) -> None:
    with Server(tmp_path / "data", role=role) as server:
        assert server.get("/v1/runs").status_code == status
        assert server.get("/health").status_code == 200
