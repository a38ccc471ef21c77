"""A server that asks no model pays for none: the libraries are imported by the first question to each."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.standins.model import ModelServer, Step

LIBRARIES = {
    "anthropic": "anthropic",
    "openai": "openai",
    "mistral": "mistralai",
    "google": "google.genai",
}
PROGRAM = """
import asyncio, json, sys
import drydock.app
from drydock.model.conversation import Message
from drydock.model.models import Models
from drydock.settings import Settings

names = json.loads(sys.argv[1])
models = Models(Settings(**json.loads(sys.argv[2])), lambda name: "a-key")

async def main():
    for name in names:
        await models.answer(name, [Message("user", "Go.")])
    await models.close()

asyncio.run(main())
print(json.dumps([each for each in json.loads(sys.argv[3]) if each in sys.modules]))
"""


def imported(*names: str, **settings: Any) -> list[str]:
    looked_for = [*LIBRARIES.values(), "pydantic_ai", "genai_prices", "httpx2"]
    arguments = [json.dumps(each) for each in (names, settings, looked_for)]
    done = subprocess.run([sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, check=True)
    found: list[str] = json.loads(done.stdout)
    return found


def test_a_server_that_has_asked_no_model_has_imported_none() -> None:
    assert imported(model="best", models={"best": "anthropic:x"}) == []


@pytest.mark.parametrize("provider", LIBRARIES)
def test_a_question_imports_its_providers_library_alone(server: ModelServer, provider: str) -> None:
    address = server.play("x", Step(text="Hello."))
    if provider == "openai":
        address += "/v1"
    found = imported(f"{provider}:some-model", **{f"{provider}_base_url": address})
    assert [each for each in found if each in LIBRARIES.values()] == [LIBRARIES[provider]]
