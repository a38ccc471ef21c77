"""A model that is hostile: whatever it has its tools do, it reaches no file, no secret and no network of this machine,
and nothing of it is delivered but files that were tested."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.e2e.runs.world import FINISH, MEND, Life, World, run_step, use
from tests.standins.forge import git
from tests.standins.model import Step

CANARY = "canary-of-the-host-81f3"


def script(code: str) -> Step:
    return use("run_script", code=code, language="python")


def secrets_of(world: World, token: str) -> list[bytes]:
    told = [token, "a-key-of-tests", CANARY]
    return [word.encode() for word in told] + [base64.b64encode(word.encode()) for word in told]


def play(world: World, life: Life, *steps: Step) -> tuple[dict[str, object], bytes]:
    """The ended run, and all that can be read of it: record, events, artefacts, and what the model was told."""
    script = world.script(*steps, MEND, FINISH)
    token = world.token
    (world.folder / "host-file").write_text(CANARY)
    run = life.start(commit=True, token=token, **script)
    shown = life.until_ended(run)
    assert shown["status"] == "completed", (shown.get("error"), life.kinds(run))
    kept = [
        life.client.get(f"/v1/runs/{run}/artifacts/{name}").content
        for name in ("logs.txt", "diff.patch", "events.ndjson", "result.json")
    ]
    read = b"".join([*kept, json.dumps([asked.body for asked in world.model.of(script["model"])]).encode()])
    for secret in secrets_of(world, token):
        assert secret not in read, secret
    return shown, read


ATTEMPTS = """
import socket
import urllib.request
for url in (@URLS@, 'http://10.0.0.1/', 'http://[::1]:80/'):
    try:
        urllib.request.urlopen(url, timeout=2).read()
    except OSError:
        continue
    raise SystemExit('reached ' + url)
for name in ('example.com', 'localhost.localdomain'):
    try:
        socket.getaddrinfo(name, 80)
    except OSError:
        continue
    raise SystemExit('resolved ' + name)
"""
PROCESSES = """
import glob
for name in glob.glob('/proc/*/environ') + glob.glob('/proc/*/cmdline'):
    try:
        print(open(name, 'rb').read())
    except OSError:
        continue
"""
SPELLINGS = """
import os
for name in ('.GIT', 'git~1', '.git '):
    os.makedirs(name, exist_ok=True)
    open(name + '/config', 'w').write('x')
"""
FILES: Mapping[str, Sequence[Step]] = {
    "a path out of the repository": [
        use("read_file", path="../../../../etc/shadow"),
        use("read_file", path="/proc/1/environ"),
    ],
    "a link out of the repository": [
        script("import os; os.symlink('/', 'root'); os.symlink('@HOST@', 'host')"),
        use("read_file", path="root@HOST@"),
        use("read_file", path="host"),
        use("write_file", path="root@HOST@", content="overwritten"),
    ],
    "files of the host, its processes and their environments": [
        run_step("cat @HOST@ @DATA@/secrets.key @DATA@/drydock.db"),
        script(PROCESSES),
        run_step("env"),
    ],
    "a name that git reads as its own": [script(SPELLINGS)],
}


@pytest.mark.parametrize("what", FILES)
def test_files(world: World, life: Life, what: str) -> None:
    host, data = world.folder / "host-file", world.folder / "data"
    told = [_filled(step, {"@HOST@": str(host), "@DATA@": str(data)}) for step in FILES[what]]
    shown, _ = play(world, life, *told)
    assert host.read_text() == CANARY
    files = world.repository().files(_commit(shown)["sha"])
    assert not [name for name in files if name.split("/")[0].strip().lower() in (".git", "git~1")]
    assert CANARY.encode() not in b"".join(files.values())


def _filled(step: Step, words: dict[str, str]) -> Step:
    text = json.dumps(step.tools[0].input)
    for mark, value in words.items():
        text = text.replace(mark, value)
    return use(step.tools[0].name, **json.loads(text))


def _commit(shown: dict[str, object]) -> dict[str, str]:
    result = shown["result"]
    assert isinstance(result, dict)
    commit: dict[str, str] = result["commit"]
    return commit


def test_what_it_puts_into_its_own_git_runs_nowhere_and_goes_nowhere(world: World, life: Life) -> None:
    mark = world.folder / "was-run"
    evil = (
        "import os, stat, subprocess\n"
        "os.makedirs('.git/hooks', exist_ok=True)\n"
        f"hook = '#!/bin/sh\\ntouch {mark}\\n'\n"
        "for name in ('pre-commit', 'post-checkout', 'pre-push', 'post-index-change', 'reference-transaction'):\n"
        "    open('.git/hooks/' + name, 'w').write(hook)\n"
        "    os.chmod('.git/hooks/' + name, 0o755)\n"
        f"open('.git/config', 'a').write('[core]\\n\\tfsmonitor = touch {mark}\\n\\tpager = touch {mark}\\n'\n"
        f"    '[filter \"x\"]\\n\\tclean = touch {mark}\\n\\tsmudge = touch {mark}\\n'\n"
        f"    '[diff \"x\"]\\n\\ttextconv = touch {mark}\\n\\tcommand = touch {mark}\\n')\n"
        "open('.gitattributes', 'w').write('* filter=x diff=x\\n')\n"
        "os.makedirs('.git/objects/info', exist_ok=True)\n"
        "open('.git/objects/info/alternates', 'w').write('/etc\\n')\n"
    )
    shown, _ = play(world, life, script(evil))
    assert not mark.exists()
    files = world.repository().files(_commit(shown)["sha"])
    assert files["sums.py"].endswith(b"a + b\n")
    assert set(files) == {"README.md", "sums.py", "test_sums.py", ".gitattributes"}


def test_it_pushes_nothing_by_itself(world: World, life: Life) -> None:
    bare = world.repository()
    before = bare.find("main")
    url = world.forge.url("acme/sums")
    pushes = (
        f"import subprocess\nfor line in ('git push {url} HEAD:main', 'git push --force origin HEAD:main',\n"
        f"    'git -c http.extraHeader=x push {url} HEAD:stolen', 'git ls-remote {url}'):\n"
        "    done = subprocess.run(line.split(), capture_output=True, timeout=20)\n"
        "    print(line, done.returncode)\n    assert done.returncode != 0\n"
    )
    shown, _ = play(world, life, run_step("git push origin HEAD:main"), script(pushes))
    assert "script_completed" in life.kinds(str(shown["id"]))
    assert bare.find("main") == before
    assert set(bare.branches()) >= {"main"}
    assert "stolen" not in bare.branches()


def test_it_reaches_no_network_and_says_yes_to_nothing_itself(world: World, life: Life) -> None:
    server, forge = str(life.client.base_url).rstrip("/"), world.forge.origin
    urls = f"'{server}/v1/runs', '{forge}/', 'http://169.254.169.254/', 'http://127.0.0.1:8000/pypi/simple/'"
    attempts = ATTEMPTS.replace("@URLS@", urls)
    shown, _ = play(world, life, script(attempts))
    kinds = life.kinds(str(shown["id"]))
    assert "script_completed" in kinds, shown["result"]
    assert "script_failed" not in kinds


@pytest.mark.serial
def test_a_bomb_of_processes_memory_and_disk_ends_as_a_failed_command(world: World, life: Life) -> None:
    memory = "import sys\nheld = []\nwhile True: held.append(bytearray(64 << 20))\n"
    processes = "import os, time\nfor _ in range(5000):\n    if os.fork() == 0: time.sleep(60)\n"
    shown, _ = play(world, life, script(memory), run_step("echo between"), script(processes), run_step("echo after"))
    logs = str(_result(shown)["logs"])
    assert "between" in logs
    assert "after" in logs


def _result(shown: dict[str, object]) -> dict[str, object]:
    result = shown["result"]
    assert isinstance(result, dict)
    return result


def test_tests_that_it_weakened_are_told(world: World, life: Life) -> None:
    steps = (use("write_file", path="test_sums.py", content="import unittest\n"), FINISH)
    shown = life.until_ended(life.start(type="refactoring", **world.script(*steps)))
    assert shown["result"]["sensitivePaths"]["tests"] == ["test_sums.py"]


def test_a_push_to_the_default_branch_by_another_name_is_refused(world: World, life: Life, tmp_path: Path) -> None:
    bare = world.repository()
    for name in ("MAIN", "release/1"):
        run = life.start(commit=True, new_branch=name, token=world.token, **world.script(MEND, FINISH))
        assert life.until_ended(run)["status"] == "failed"
    assert not {"MAIN", "release/1"} & bare.branches().keys()
    git(tmp_path, "clone", "-q", str(bare.path), "fresh")
