from __future__ import annotations

import pytest

from tests.box.seccomp import probe


@pytest.fixture(scope="session")
def under_filter(tmp_path_factory: pytest.TempPathFactory) -> probe.Probe:
    return probe.build(tmp_path_factory.mktemp("probe"))
