"""The executor's own life; what it runs is tested at the doors and in tests/box."""

from __future__ import annotations

import asyncio
import io
from pathlib import Path

from drydock.box.cgroup import Hierarchy
from drydock.box.host import folder_id
from drydock.code.boxed import BoxedExecutor
from drydock.observe.log import Log
from drydock.settings import Settings


def test_closed_twice_as_after_a_start_that_failed_it_leaves_nothing(tmp_path: Path) -> None:
    async def live() -> None:
        executor = BoxedExecutor(Settings(data=tmp_path, max_concurrent=1), Log("error", io.StringIO()))
        await executor.open()
        await executor.close()
        await executor.close()
        assert executor.broken

    asyncio.run(live())
    hierarchy = Hierarchy.find("drydock-" + folder_id(tmp_path))
    assert hierarchy is not None
    assert hierarchy.left_over() == []
    hierarchy.remove()
