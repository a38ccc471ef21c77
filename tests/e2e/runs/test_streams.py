"""A stream of events outlives its server."""

from __future__ import annotations

import json
import subprocess

from tests.e2e.conftest import DRYDOCK, free_port, own_environment
from tests.e2e.runs.world import FINISH, MEND, World, run_step

STEPS = 12


def test_a_follower_sees_each_event_once_though_the_server_is_killed_and_started_again(world: World) -> None:
    port = str(free_port())
    life = world.life("streamed", "--port", port)
    script = world.script(*(run_step(f"sleep 0.1; echo {number}") for number in range(STEPS)), MEND, FINISH)
    run = life.start(token=world.token, **script)
    with subprocess.Popen(
        [str(DRYDOCK), "runs", "logs", run, "--follow", "--json"],
        env=own_environment() | {"DRYDOCK_URL": f"http://127.0.0.1:{port}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as follower:
        assert follower.stdout is not None
        seen = []
        for line in follower.stdout:
            seen.append(json.loads(line))
            if seen[-1]["type"] == "command_completed" and seen[-1]["data"]["commandIndex"] == 3:
                break
        life.kill()
        life = world.life("streamed", "--port", port)
        seen += [json.loads(line) for line in follower.stdout]
        told = follower.stderr.read() if follower.stderr else ""
    assert follower.wait() == 0, f"{told}{seen[-1:]}"
    assert [event["seq"] for event in seen] == list(range(1, len(seen) + 1))
    assert seen[-1]["type"] == "run_completed"
    assert life.show(run)["status"] == "completed"
    stored = [(number, kind) for number, kind, _ in life.events(run)]
    assert [(event["seq"], event["type"]) for event in seen] == stored
    life.close()
