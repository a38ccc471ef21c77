"""Programs that will not die: a time limit of 1 s against children that hold stdout, ignore every signal and have left
their session. Answered by 2 s, and nothing of them alive then."""

from __future__ import annotations

import secrets
import statistics
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bench import server
from bench.figure import Figure
from bench.http_load import Client, request

TIMES = 200
AT_ONCE = 4
LIMIT = 1

STUBBORN = """
import os, signal, time
for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execv("/bin/sleep", ["sleep", "{mark}"])
    time.sleep(3600)
print("started", flush=True)
while True:
    time.sleep(3600)
"""


def measure() -> Iterator[Figure]:
    # An argument of `sleep` that no other process on the machine has: found by it from outside the box.
    mark = f"86399.{secrets.randbelow(10**9):09}"
    with server.drydock(max_concurrent=AT_ONCE) as dock:
        with ThreadPoolExecutor(AT_ONCE) as pool:
            taken = list(pool.map(lambda _: one(dock.port, mark), range(TIMES)))
        survivors = alive(mark)
    latest = max(taken)
    detail = {"limit s": LIMIT, "median s": statistics.median(taken)}
    yield Figure(f"{TIMES} programs that ignore their end, answered by", latest, 2, "at most", "s", detail)
    yield Figure("survivors of those", survivors, 0, "at most", "processes")


def one(port: int, mark: str) -> float:
    value = {"code": STUBBORN.replace("{mark}", mark), "timeout_seconds": LIMIT}
    client = Client(port, request("/code/execute", value), b'"end_reason":"timeout"')
    began = time.perf_counter()
    body = client.call()
    taken = time.perf_counter() - began
    client.close()
    if b"started" not in body:
        raise RuntimeError(f"the program did not get to the point: {body[:500]!r}")
    return taken


def alive(mark: str) -> int:
    count = 0
    for cmdline in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            count += mark.encode() in cmdline.read_bytes()
        except OSError:
            continue
    return count
