"""`print(1)` over HTTP: one client's time and sixteen clients' throughput, against the naive server in the same run."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from bench import server
from bench.figure import Figure
from bench.http_load import Client, latencies, request, throughput

CALL = request("/code/execute", {"code": "print(1)"})
EXPECT = b'1\\n"'
CLIENTS = 16
ROUNDS = 8
CALLS = 50
WARM_UP = 30
SECONDS = 3.0


def measure() -> Iterator[Figure]:
    yield one_client()
    yield many_clients()


def one_client() -> Figure:
    """Rounds alternate between the two servers, so that a slow minute of the machine strikes both alike."""
    ours: list[float] = []
    theirs: list[float] = []
    with server.drydock() as dock, server.baseline() as naive:
        first, second = Client(dock.port, CALL, EXPECT), Client(naive.port, CALL, EXPECT)
        latencies(first, WARM_UP)
        latencies(second, WARM_UP)
        for _ in range(ROUNDS):
            ours += latencies(first, CALLS)
            theirs += latencies(second, CALLS)
        first.close()
        second.close()
    p50, naive_p50 = statistics.median(ours), statistics.median(theirs)
    detail = {
        "p50 ms": p50 * 1e3,
        "p99 ms": statistics.quantiles(ours, n=100)[98] * 1e3,
        "naive p50 ms": naive_p50 * 1e3,
        "naive p99 ms": statistics.quantiles(theirs, n=100)[98] * 1e3,
    }
    return Figure("time of one call, against a bare python3 each time", p50 / naive_p50, 0.35, "at most", detail=detail)


def many_clients() -> Figure:
    rates: list[float] = []
    naive_rates: list[float] = []
    with server.drydock(max_concurrent=CLIENTS) as dock, server.baseline() as naive:
        for round_number in range(4):
            # The first round warms both up and is not counted.
            seconds = SECONDS if round_number else 1.0
            rate = throughput(dock.port, CALL, EXPECT, CLIENTS, seconds)
            naive_rate = throughput(naive.port, CALL, EXPECT, CLIENTS, seconds)
            if round_number:
                rates.append(rate)
                naive_rates.append(naive_rate)
    rate, naive_rate = statistics.median(rates), statistics.median(naive_rates)
    detail = {"calls/s": rate, "naive calls/s": naive_rate}
    return Figure(f"throughput of {CLIENTS} clients, against the same", rate / naive_rate, 4, "at least", detail=detail)
