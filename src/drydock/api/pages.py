"""/metrics, /openapi.json and /docs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from drydock.api.call import Call, Headers, Reply
from drydock.api.docs_page import POLICY, page
from drydock.api.guard import Guard
from drydock.api.router import Router
from drydock.api.text import write
from drydock.observe.metrics import Metrics

SCOPE = "native"
PAGE_HEADERS: Headers = [
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
]


class Pages:
    def __init__(self, document: Mapping[str, Any], metrics: Metrics) -> None:
        self._openapi = write(document) + b"\n"
        self._docs = page(document).encode()
        self._metrics = metrics

    def mount(self, router: Router, guard: Guard) -> None:
        router.add("GET HEAD", "/metrics", guard.door(SCOPE, self.metrics))
        router.add("GET HEAD", "/openapi.json", guard.door(SCOPE, self.openapi))
        router.add("GET HEAD", "/docs", guard.door(SCOPE, self.docs))

    async def metrics(self, call: Call) -> None:
        kind = b"text/plain; version=0.0.4; charset=utf-8"
        await call.reply(Reply(200, self._metrics.render().encode(), kind))

    async def openapi(self, call: Call) -> None:
        await call.reply(Reply(200, self._openapi))

    async def docs(self, call: Call) -> None:
        await call.reply(Reply(200, self._docs, b"text/html; charset=utf-8", PAGE_HEADERS))
