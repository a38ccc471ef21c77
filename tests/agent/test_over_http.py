"""The loop over real sockets: a scripted model behind each provider's wire form, tools in a real box."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from drydock.agent.agent import Finish
from drydock.agent.loop import Loop
from drydock.agent.mind import NamedMind
from drydock.errors import ModelFailed
from drydock.model.models import Models
from drydock.settings import Settings
from tests.agent.conftest import TASK, Rig
from tests.agent.minds import PLAN, said
from tests.agent.notebook import NotebookDesk
from tests.model.asking import PROVIDERS
from tests.standins.model import Fault, ModelServer, Step, ToolUse

CHECK = "python3 -c 'import sums; assert sums.add(2, 3) == 5'"
NATIVE = (
    Step(text="I look.", tools=(ToolUse("read_file", {"path": "sums.py"}), ToolUse("search", {"pattern": "add"}))),
    Step(tools=(ToolUse("edit_file", {"path": "sums.py", "old": "a - b", "new": "a + b"}),)),
    Step(tools=(ToolUse("run_command", {"command": CHECK}),)),
    Step(tools=(ToolUse("finish", {"summary": "add adds."}),)),
)
NO_SECRETS: dict[str, str] = {}
IN_JSON = (
    Step(text=said("read", path="sums.py")),
    Step(text="Now:\n```json\n" + said("edit", path="sums.py", old_text="a - b", new_text="a + b") + "\n```"),
    Step(text=f"```sh\n{CHECK}\n```"),
    Step(text=said("done", summary="add adds.")),
)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as made:
        yield made


def settings(server: ModelServer, **more: Any) -> Settings:
    at = server.address("work")
    told: dict[str, Any] = {f"{provider}_api_key": "a-key-of-tests" for provider in PROVIDERS}
    told |= {f"{provider}_base_url": at for provider in PROVIDERS} | {"openai_base_url": f"{at}/v1"}
    return Settings(**{**told, **more})


async def no_wait(seconds: float) -> None:
    """Between tries."""


def mend(rig: Rig, server: ModelServer, model: str, **more: Any) -> Finish:
    async def act() -> Finish:
        models = Models(settings(server, **more), NO_SECRETS.get, no_wait)
        try:
            desk, loop = NotebookDesk(rig.book), Loop(NamedMind(models, model), TASK)
            return await loop.work(await loop.plan(desk, rig.site), desk, rig.site)
        finally:
            await models.close()

    return rig.fleet.run(act())


@pytest.mark.parametrize("provider", PROVIDERS)
def test_any_model_mends_the_sum_with_native_tools(rig: Rig, server: ModelServer, provider: str) -> None:
    server.play("work", *NATIVE, plan=Step(text=PLAN))
    finish = mend(rig, server, PROVIDERS[provider])
    assert (finish.summary, finish.steps, finish.commands) == ("add adds.", 4, 1)
    assert rig.contents("sums.py").endswith("a + b\n")
    assert rig.book.of("agent_turn")[0]["toolNames"] == ["read_file", "search"]
    assert finish.usage.input_tokens >= 500


def test_a_model_without_tools_mends_it_by_the_json_form(rig: Rig, server: ModelServer) -> None:
    server.play("work", *IN_JSON, plan=Step(text=PLAN))
    entry = {"address": f"{server.address('work')}/v1", "model": "openai:local", "tools": False}
    finish = mend(rig, server, "local", models={"local": entry})
    assert (finish.summary, finish.steps) == ("add adds.", 4)
    assert rig.contents("sums.py").endswith("a + b\n")
    assert rig.book.of("agent_turn") == []


def test_a_model_that_fails_for_good_ends_the_run_and_the_next_play_goes_on(rig: Rig, server: ModelServer) -> None:
    down = tuple(Fault(status=503) for _ in range(3))
    server.play("work", NATIVE[0], Step(tools=NATIVE[1].tools, faults=down), *NATIVE[2:], plan=Step(text=PLAN))
    with pytest.raises(ModelFailed) as failed:
        mend(rig, server, PROVIDERS["anthropic"])
    assert failed.value.retryable
    assert rig.book.types()[-1] == "agent_turn_failed"
    before = len(server.asked)
    assert mend(rig, server, PROVIDERS["anthropic"]).summary == "add adds."
    assert len(server.asked) == before + 3
    assert len(rig.book.of("file_read")) == 1
