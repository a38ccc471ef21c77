"""What is kept of executions: the synchronous store, brought to the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from drydock.store.execution import Execution, StoredFile
from drydock.store.executions import Executions, Page
from drydock.store.objects import ObjectStore

CROWD = 128 << 20
"""Bytes of results on their way to the store."""


class Archive:
    def __init__(self, executions: Executions, objects: ObjectStore) -> None:
        self._executions = executions
        self._objects = objects
        self._keeping = 0

    @property
    def crowded(self) -> bool:
        """The store is slower than the executions end: they should wait for it, or memory fills."""
        return self._keeping >= CROWD

    async def reserve(self, row: Execution) -> Execution:
        """`row`, or the earlier one of its caller with the same idempotency key."""
        return await asyncio.to_thread(self._executions.reserve, row)

    async def keep(self, row: Execution, contents: Mapping[str, bytes]) -> None:
        """Write the record of an ended execution, and its files' bytes first, so that a record is never without."""
        if not row.files and self._executions.offer(row):
            return
        size = sum(file.size for file in row.files) + (len(row.output) if row.output else 0)
        self._keeping += size
        try:
            await asyncio.to_thread(self._keep, row, contents)
        finally:
            self._keeping -= size

    async def get(self, caller: str, execution_id: str) -> Execution | None:
        return await asyncio.to_thread(self._executions.get, execution_id, caller)

    async def page(self, caller: str, cursor: str | None, limit: int) -> Page:
        return await asyncio.to_thread(self._executions.list, caller, cursor=cursor, limit=limit)

    async def content(self, file: StoredFile) -> bytes | None:
        return await asyncio.to_thread(self._objects.get, file.key)

    def _keep(self, row: Execution, contents: Mapping[str, bytes]) -> None:
        for file in row.files:
            self._objects.put(file.key, contents[file.name])
        self._executions.write_behind(row)
