"""The outermost application. Every request gets its id here, and every error becomes a reply here and nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

from starlette.types import Receive, Scope, Send

from drydock.api.call import Call, ClientGone, Door, Shape
from drydock.errors import DrydockError
from drydock.observe.log import Log
from drydock.observe.metrics import Metrics

CLIENT_GONE = 499
SHOWN_OF_PATH = 200


class Border:
    def __init__(
        self, front: Door, shape: Shape, log: Log, metrics: Metrics, draining: Callable[[], bool] = lambda: False
    ) -> None:
        self._front = front
        self._shape = shape
        self._log = log
        self._metrics = metrics
        self._draining = draining

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        call = Call(scope, receive, send, self._shape)
        if self._draining():
            call.extra.append((b"connection", b"close"))
        began = perf_counter()
        try:
            await self._answer(call)
        except ClientGone:
            call.status = CLIENT_GONE
        finally:
            seconds = perf_counter() - began
            self._metrics.requests.add(call.door, str(call.status))
            self._metrics.seconds.observe(seconds, call.door)
            self._log.info(
                "request",
                request_id=call.request_id,
                method=call.method,
                path=call.path[:SHOWN_OF_PATH],
                door=call.door,
                status=call.status,
                ms=round(seconds * 1000, 2),
            )

    async def _answer(self, call: Call) -> None:
        try:
            await self._front(call)
        except DrydockError as error:
            if error.status >= 500:
                self._log.warning("refused", request_id=call.request_id, code=error.code, message=error.message)
            await self._tell(call, error)
        except ClientGone:
            raise
        except Exception as unforeseen:  # noqa: BLE001 - the last one to catch it: logged with its stack, answered without
            self._log.error("internal", unforeseen, request_id=call.request_id)
            await self._tell(call, DrydockError("the server made a mistake; nothing is known about the request's end"))

    async def _tell(self, call: Call, error: DrydockError) -> None:
        if call.status:
            # The reply has begun in another form: it can only be left unfinished, which closes the connection.
            self._log.warning("cut", request_id=call.request_id, code=error.code)
            return
        await call.reply(call.shape(error, call))
