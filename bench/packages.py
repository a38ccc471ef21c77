"""`print(1)` with a layer of a large package, as every run after the first has it, against `print(1)` without."""

from __future__ import annotations

import json
import statistics
import urllib.request
from collections.abc import Iterator

from bench import server
from bench.figure import Figure
from bench.http_load import Client, latencies, request
from tests.standins.index import Index
from tests.standins.wheels import wheel

EXPECT = b'1\\n"'
ROUNDS = 8
CALLS = 40
WARM_UP = 30
FILES, SIZE = 3600, 28_000
"""As many files and bytes as pandas has, with all that it needs."""


def measure() -> Iterator[Figure]:
    large = {f"large/part{number % 60}/module{number}.py": b"#" * SIZE for number in range(FILES)}
    with Index() as index, server.drydock(python_index=index.pypi) as dock:
        index.publish(wheel("large", files={"large/__init__.py": "", **large}))
        with_layer = request("/code/execute", {"code": "print(1)", "requirements": ["large"]})
        first_ms = _install(dock.port)
        yield _compare(dock.port, with_layer, first_ms)


def _install(port: int) -> float:
    """Milliseconds that the first request pays."""
    body = json.dumps({"code": "import large", "requirements": ["large"], "limits": {"timeout_ms": 120_000}}).encode()
    asked = urllib.request.Request(f"http://127.0.0.1:{port}/v1/executions", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(asked, timeout=180) as reply:
        told = json.load(reply)
    if told["ended"]["reason"] != "completed":
        raise RuntimeError(f"the package could not be installed: {told['stderr']}")
    return float(told["packages"]["time_ms"])


def _compare(port: int, with_layer: bytes, first_ms: float) -> Figure:
    """Rounds alternate, so that a slow minute of the machine strikes both alike."""
    bare, layered = (
        Client(port, request("/code/execute", {"code": "print(1)"}), EXPECT),
        Client(port, with_layer, EXPECT),
    )
    without: list[float] = []
    with_: list[float] = []
    latencies(bare, WARM_UP)
    latencies(layered, WARM_UP)
    for _ in range(ROUNDS):
        without += latencies(bare, CALLS)
        with_ += latencies(layered, CALLS)
    bare.close()
    layered.close()
    p50, bare_p50 = statistics.median(with_) * 1e3, statistics.median(without) * 1e3
    detail = {"with ms": p50, "without ms": bare_p50, "p99 with ms": statistics.quantiles(with_, n=100)[98] * 1e3}
    detail["first run ms"] = first_ms
    return Figure("what a layer of 100 MB costs a later run", p50 - bare_p50, 20, "at most", "ms", detail)
