"""Keep-alive clients over raw sockets in one thread: some tens of microseconds a request, so that the load generator
takes little from the processors that it shares with the server."""

from __future__ import annotations

import json
import selectors
import socket
import time
from dataclasses import dataclass, field

WITHIN = 60.0


def request(path: str, value: object) -> bytes:
    body = json.dumps(value).encode()
    return b"POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (
        path.encode(),
        len(body),
        body,
    )


@dataclass
class Client:
    """One connection: sends the same request again and again and checks each answer."""

    port: int
    sent: bytes
    expect: bytes
    """Must be in the body of each answer, else the load would measure errors."""
    got: bytearray = field(default_factory=bytearray)

    def __post_init__(self) -> None:
        self.socket = socket.create_connection(("127.0.0.1", self.port), timeout=WITHIN)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self) -> None:
        self.got.clear()
        self.socket.sendall(self.sent)

    def receive(self) -> bytes | None:
        """Take what has come; the body once the answer is whole."""
        part = self.socket.recv(65536)
        if not part:
            raise RuntimeError("the server closed the connection")
        self.got += part
        head, blank, body = self.got.partition(b"\r\n\r\n")
        if not blank or len(body) < _content_length(head):
            return None
        if not head.startswith(b"HTTP/1.1 200") or self.expect not in body:
            raise RuntimeError(f"not the answer that was expected: {bytes(self.got)[:500]!r}")
        return bytes(body)

    def call(self) -> bytes:
        self.send()
        while (body := self.receive()) is None:
            pass
        return body

    def close(self) -> None:
        self.socket.close()


def _content_length(head: bytearray) -> int:
    at = head.lower().index(b"content-length:") + 15
    return int(head[at:].split(b"\r\n", 1)[0])


def latencies(client: Client, count: int) -> list[float]:
    """Seconds of each of `count` calls, one after the other."""
    taken = []
    for _ in range(count):
        began = time.perf_counter()
        client.call()
        taken.append(time.perf_counter() - began)
    return taken


def throughput(port: int, sent: bytes, expect: bytes, clients: int, seconds: float) -> float:
    """Answers a second while `clients` connections each have one request under way at all times."""
    with selectors.DefaultSelector() as ready:
        connected = [Client(port, sent, expect) for _ in range(clients)]
        for client in connected:
            ready.register(client.socket, selectors.EVENT_READ, client)
            client.send()
        answers, under_way = 0, clients
        began = time.perf_counter()
        while under_way:
            for key, _ in ready.select(WITHIN):
                if key.data.receive() is None:
                    continue
                if time.perf_counter() < began + seconds:
                    answers += 1
                    key.data.send()
                else:
                    # Awaited but not counted: a client that hung up would leave its execution to whoever comes next.
                    under_way -= 1
        for client in connected:
            client.close()
    return answers / seconds
