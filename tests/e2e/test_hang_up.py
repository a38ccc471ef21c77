"""Clients that hang up in the middle take their executions with them, and nobody after them notices."""

from __future__ import annotations

import random
import time

import pytest

from bench.http_load import Client, request
from bench.server import drydock

CLIENTS = 16
ROUNDS = 300
CALL = request("/v1/executions", {"code": "print(1)"})
EXPECT = b'"stdout":"1\\n"'

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]


def test_who_comes_after_clients_that_hung_up_gets_its_own_answer() -> None:
    """Each at another moment of its execution's life; a wrong answer raises in the client, and shows it."""
    moments = random.Random(1)
    with drydock(max_concurrent=CLIENTS) as dock:
        for _ in range(ROUNDS):
            leaving = [Client(dock.port, CALL, EXPECT) for _ in range(CLIENTS)]
            for client in leaving:
                client.send()
            time.sleep(moments.uniform(0, 0.06))
            for client in leaving:
                client.close()
            staying = Client(dock.port, CALL, EXPECT)
            for _ in range(20):
                staying.call()
            staying.close()
