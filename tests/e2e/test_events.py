"""The page of events describes those that a real stream has."""

from __future__ import annotations

import json
import urllib.request

from scripts.reference import EVENTS


def test_a_stream_has_the_events_of_the_docs_and_no_other(dock: str) -> None:
    code = "import sys; print('out', flush=True); print('err', file=sys.stderr)"
    request = urllib.request.Request(
        f"{dock}/v1/executions", json.dumps({"code": code}).encode(), {"Accept": "text/event-stream"}
    )
    with urllib.request.urlopen(request, timeout=30) as stream:
        events = [event.splitlines() for event in stream.read().decode().split("\n\n") if event]
    # `progress` is of an installation: tests/packages/test_native.py sees it.
    assert {lines[1].removeprefix("event: ") for lines in events} == set(EVENTS) - {"progress"}
    assert [lines[0] for lines in events] == [f"id: {number}" for number in range(1, len(events) + 1)]
    for lines in events:
        name, data = lines[1].removeprefix("event: "), json.loads(lines[2].removeprefix("data: "))
        shown = EVENTS[name][1].replace(",...", "")
        assert set(json.loads(shown)) <= set(data), name
