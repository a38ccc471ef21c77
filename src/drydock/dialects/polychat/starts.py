"""Runs of this contract, started by either of its doors and answered in the same way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

from drydock.access.caller import Caller
from drydock.api.call import Call, json_reply
from drydock.api.runs.stream import STREAM, until_ended
from drydock.dialects.polychat.events import shown_id
from drydock.dialects.polychat.order import Ordered, branch_of
from drydock.dialects.polychat.result import result_of
from drydock.dialects.polychat.stream import stream
from drydock.run.admission import Admission, Asked
from drydock.run.records import Records
from drydock.store.run import Run
from drydock.store.runs import Quota

SCOPE = "polychat"
LONGEST_TOKEN = 4096
Quotas = Callable[[Caller], Quota]


class Starts:
    """Runs of this contract, started by either of its doors."""

    """Admission, with the quota that binds the caller."""

    def __init__(self, records: Records, admission: Admission, quotas: Quotas) -> None:
        self._records, self._admission, self._quotas = records, admission, quotas

    async def start(self, call: Call, ordered: Ordered, token: str | None) -> Run:
        assert call.caller is not None, "a door without its guard"
        spec = replace(ordered.spec, new_branch=branch_of(ordered.spec))
        asked = Asked(
            spec,
            call.caller.id,
            SCOPE,
            client_id=ordered.run_id,
            installation=ordered.installation,
            quota=self._quotas(call.caller),
            credential=token,
        )
        run = (await self._admission.start(asked)).run
        return await asyncio.to_thread(self._records.runs.get, run.id) or run

    async def answer(self, call: Call, run: Run) -> None:
        """Its stream, or its result once it has ended."""
        if STREAM in (call.header(b"accept") or ""):
            return await stream(call, self._records, run)
        call.extra.append((b"x-sandbox-run-id", shown_id(run).encode()))
        ended = await until_ended(call, self._records, run)
        await call.reply(json_reply(200, result_of(ended.result)))


def forge_token(call: Call) -> str | None:
    """None when there is none that a request to a forge could carry."""
    sent = (call.header(b"x-github-token") or "").strip()
    return sent if sent and len(sent) <= LONGEST_TOKEN else None
