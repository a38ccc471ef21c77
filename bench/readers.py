"""Many readers of one run's events, in one process and one thread: `python -m bench.readers URL RUN COUNT`.

A thread for each would measure its own interpreter: two hundred of them wait for one lock. Here each readable socket is
read once and its time noted; what was read is looked into when all is over.
"""

from __future__ import annotations

import json
import re
import selectors
import socket
import sys
import time

AT = re.compile(rb'"at":([0-9.]+)')
END = b"event: run_completed"
SETTLED_S = 1.0
"""What was written before all had attached is history, and late by our own doing."""


def read(host: str, port: int, run: str, count: int) -> list[float]:
    """Milliseconds from each event's writing to each reader's having it."""
    asked = f"GET /v1/runs/{run}/events HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()
    came: list[tuple[float, bytes]] = []
    with selectors.DefaultSelector() as ready:
        for _ in range(count):
            connection = socket.create_connection((host, port), timeout=60)
            connection.sendall(asked)
            connection.setblocking(False)
            ready.register(connection, selectors.EVENT_READ)
        attached = time.monotonic()
        while ready.get_map():
            for key, _ in ready.select(60):
                data = key.fileobj.recv(1 << 18)  # type: ignore[union-attr]
                came.append((time.monotonic(), data))
                if not data or END in data:
                    ready.unregister(key.fileobj)
                    key.fileobj.close()  # type: ignore[union-attr]
    return [
        (moment - float(at)) * 1e3
        for moment, data in came
        for at in AT.findall(data)
        if float(at) > attached + SETTLED_S
    ]


if __name__ == "__main__":
    host, _, port = sys.argv[1].removeprefix("http://").partition(":")
    json.dump(read(host, int(port), sys.argv[2], int(sys.argv[3])), sys.stdout)
