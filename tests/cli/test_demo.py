"""What the demo stands on: its story, the model that plays it, the server that it starts."""

from __future__ import annotations

import json
import subprocess
import tomllib
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from drydock.cli.demo.command import STORY
from drydock.cli.demo.dock import address_told
from drydock.cli.demo.model import playing
from drydock.errors import CannotStart

STORY_DATA = tomllib.loads(STORY.read_text("utf-8"))


def ask(address: str, *roles: str) -> dict[str, Any]:
    body = json.dumps({"model": "story", "messages": [{"role": role, "content": "x"} for role in roles]}).encode()
    with urllib.request.urlopen(f"{address}/chat/completions", data=body, timeout=10) as reply:
        message: dict[str, Any] = json.load(reply)["choices"][0]["message"]
        return message


def test_the_model_says_the_same_to_the_same_conversation() -> None:
    with playing(STORY_DATA["plan"], STORY_DATA["steps"]) as address:
        assert ask(address, "user")["content"] == STORY_DATA["plan"]
        for _ in range(2):
            assert ask(address, "system", "user")["tool_calls"][0]["function"]["name"] == "run_command"
            assert ask(address, "system", "user", "assistant", "tool")["content"].startswith("Two cents")
        with pytest.raises(urllib.error.HTTPError, match="400"):
            ask(address, "system", *["assistant"] * 99)


@pytest.mark.parametrize(("log", "said"), [("one\nno bwrap here\n", "no bwrap here"), ("", "it said nothing")])
def test_a_server_that_does_not_start_is_told_in_its_own_words(tmp_path: Path, log: str, said: str) -> None:
    (tmp_path / "log").write_text(log)
    with subprocess.Popen(["/bin/echo", "nothing of use"], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        with pytest.raises(CannotStart, match=said):
            address_told(process.stdout, tmp_path / "log")
