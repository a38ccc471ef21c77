"""Every test of contract `code` once more, against the image in a container: see conftest.py for its `server`."""

from __future__ import annotations

import pytest

from tests.dialects.test_code import *  # noqa: F403

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]
