"""What an idle server holds, what a slot costs, and what is left behind when many executions have come and gone."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from bench import server
from bench.code import CALL, EXPECT
from bench.figure import Figure
from bench.http_load import Client, latencies

FEW, MANY = 4, 12
WARM_UP = 300
EXECUTIONS = 2000
"""The promise is made for 10,000, which `make test-long` takes; this many show a leak of one in a few hundred."""
SETTLE = 3.0
MEMORY_MAY_GROW = 8.0
"""MB: allocators keep some pages; a leak of 1 kB an execution is above it at 10,000."""


def measure() -> Iterator[Figure]:
    yield from memory()
    yield from leavings()


def _idle(slots: int) -> float:
    """MB of the server and all its children after a warm-up that has used every slot."""
    with server.drydock(max_concurrent=slots) as dock:
        client = Client(dock.port, CALL, EXPECT)
        latencies(client, 10 * slots)
        client.close()
        time.sleep(SETTLE)
        return server.resident(server.tree(dock.pid))


def memory() -> Sequence[Figure]:
    few, many = _idle(FEW), _idle(MANY)
    detail = {f"MB with {FEW} slots": few, f"MB with {MANY} slots": many}
    return [
        Figure(f"resident, idle, {FEW} slots", few, 150, "at most", "MB", detail),
        Figure("resident, each slot", (many - few) / (MANY - FEW), 15, "at most", "MB", detail),
    ]


def leavings(executions: int = EXECUTIONS) -> Sequence[Figure]:
    with server.drydock(max_concurrent=FEW) as dock:
        client = Client(dock.port, CALL, EXPECT)
        latencies(client, WARM_UP)
        time.sleep(SETTLE)
        before, before_mb = server.holdings(dock), server.resident(server.tree(dock.pid))
        latencies(client, executions)
        time.sleep(SETTLE)
        after, after_mb = server.holdings(dock), server.resident(server.tree(dock.pid))
        client.close()
    more = {what: float(after[what] - before[what]) for what in before}
    left = sum(max(0.0, count) for count in more.values())
    return [
        Figure(f"left behind by {executions} executions", left, 0, "at most", "things", more),
        Figure(
            f"memory grown by {executions} executions",
            after_mb - before_mb,
            MEMORY_MAY_GROW,
            "at most",
            "MB",
            {"MB before": before_mb, "MB after": after_mb},
        ),
    ]
