"""A role that this server cannot play stops the start, with nothing left behind."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Literal

import pytest

from drydock.app import boxes, build
from drydock.errors import CannotStart
from drydock.observe.log import Log
from drydock.settings import Settings


@pytest.mark.parametrize("role", ["api", "worker"])
def test_a_role_for_runs_is_refused_while_none_are_served(role: Literal["api", "worker"], tmp_path: Path) -> None:
    settings = Settings(data=tmp_path / "data", role=role)
    log = Log("info", io.StringIO())
    with pytest.raises(CannotStart, match=f"the role '{role}' is for runs"):
        build(settings, boxes(settings, log), log)
    assert not settings.data.exists()
    log.close()
