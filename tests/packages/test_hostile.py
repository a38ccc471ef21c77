"""Packages that attack: what they put into a layer, what their build scripts do, what they do to strangers."""

from __future__ import annotations

import base64
import os
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from drydock.packages.installer import LONGEST_LINE, MOST_LINES
from tests.packages.shop import Shop
from tests.standins.index import Index, corrupt, drip, slow
from tests.standins.wheels import Links, Package, sdist, tarball, wheel

pytestmark = pytest.mark.long  # each of these attacks has its row in tests/attacks, which is played every time

CANARY = "canary-of-the-servers-environment"
IN_TARGET = "import os\nos.makedirs('/box/work/packages', exist_ok=True)\nos.chdir('/box/work/packages')\n"


@pytest.fixture
def canary(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("SECRET_X", CANARY)
    return CANARY


def scripted(code: str) -> Package:
    """A source distribution whose build runs this, in names of its own."""
    return sdist("mallory", script=f"exec({code!r}, {{'entries': entries}})")


def assert_clean(shop: Shop, folder: Path) -> None:
    """Nothing is left of it, here or beside the store, and the next one is served."""
    shop.until(lambda: shop.remains() == [])
    assert not [path for path in folder.rglob("*evil*")]
    assert shop.code("print(1)")["stdout"] == "1\n"
    assert shop.get("/health").json()["current_load"] == 0


LEFT_IN_THE_TARGET = {
    "a symbolic link": "os.symlink('/etc/passwd', 'evil')",
    "a link that leads to a folder": "os.symlink('/etc', 'evil')",
    "a link within the layer": "os.symlink('backend', 'evil')",
    "a fifo": "os.mkfifo('evil')",
    "a socket": "import socket; socket.socket(socket.AF_UNIX).bind('evil')",
    "a set-uid program": "open('evil', 'w').close(); os.chmod('evil', 0o4755)",
    "a set-gid folder": "os.mkdir('evil'); os.chmod('evil', 0o2755)",
    "a name that is no text": "open(b'evil\\xff', 'w').close()",
    "a name with an escape in it": "open('evil\\x1b[31m', 'w').close()",
    "folders without end": "for _ in range(200):\n    os.mkdir('evil'); os.chdir('evil')",
}


@pytest.mark.parametrize("script", LEFT_IN_THE_TARGET.values(), ids=LEFT_IN_THE_TARGET)
def test_a_build_script_cannot_put_more_than_plain_files_into_a_layer(
    shop: Shop, index: Index, tmp_path: Path, script: str
) -> None:
    index.publish(scripted(IN_TARGET + script))
    told = shop.code("print('ran')", "mallory")
    assert (told["end_reason"], told["stdout"]) == ("install_failed", "")
    assert "what evil" in told["stderr"]
    assert shop.layers() == []
    assert_clean(shop, tmp_path)


ENTRIES: dict[str, Package] = {
    "..": wheel("mallory", files={"mallory/__init__.py": "", "../../../evil.py": "x"}),
    "absolute": wheel("mallory", files={"mallory/__init__.py": "", "/box/home/evil.py": "x"}),
    "data outside": wheel("mallory", files={"mallory.py": "", "mallory-1.0.data/data/../../../../evil": "x"}),
    "a link": wheel("mallory", links=Links(symbolic={"mallory/evil": "/etc/passwd"})),
    "sdist with ..": sdist("mallory", extra={"../../evil": "x"}),
    "sdist with a link": sdist("mallory", links=Links(symbolic={"mallory-1.0/payload/evil": "/etc/passwd"})),
    "sdist with a hard link": sdist("mallory", links=Links(hard={"mallory-1.0/payload/evil": "/etc/passwd"})),
}


@pytest.mark.parametrize("package", ENTRIES.values(), ids=ENTRIES)
def test_an_archive_that_writes_elsewhere_reaches_nothing(
    shop: Shop, index: Index, tmp_path: Path, package: Package
) -> None:
    """uv refuses some and leaves others out; whichever it is, what is outside stays as it was."""
    index.publish(package)
    code = "import os; print([os.path.join(at, n) for at, _, ns in os.walk('/packages') for n in ns if 'evil' in n])"
    told = shop.code(code + "; print(open('/etc/passwd').read()[:7])", "mallory")
    if told["status"] == "success":
        found = [name for name in eval(told["stdout"].splitlines()[0])]
        for name in found:
            assert "root:" not in shop.code(f"print(open({name!r}).read())", "mallory")["stdout"]
        assert told["stdout"].endswith("sandbox\n")
    else:
        assert told["end_reason"] == "install_failed"
        assert "mallory" in told["stderr"]
    assert not [path for path in tmp_path.rglob("*evil*") if "/layers/" not in str(path)]


def test_a_build_script_finds_no_secret_and_no_network_but_the_index(
    shop: Shop, index: Index, canary: str, tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as neighbour:
        port = neighbour.getsockname()[1]
        script = f"""
import os, socket, sys, glob
def say(*words): print(*words, file=sys.stderr)
say('ENV', dict(os.environ))
for path in glob.glob('/proc/*/environ') + glob.glob('/proc/*/cmdline'):
    try: say(path, open(path, 'rb').read())
    except OSError: pass
say('SEEN', os.listdir('/store'), os.listdir('/packages'), os.listdir('/tools'))
for address in [('127.0.0.1', {port}), ('127.0.0.1', {index.port}), ('203.0.113.9', 443), ('::1', 22)]:
    try:
        socket.create_connection(address, timeout=2); say('BREACH', address)
    except OSError as wrong: say('refused', address, wrong.errno)
try: say('BREACH', socket.gethostbyname('localhost.example'))
except OSError: say('no names')
for path in ('/tools/uv', '/tools/new', '/packages/new', '/store/new', '/usr/new'):
    try: open(path, 'ab').close(); say('BREACH', path)
    except OSError: pass
say('UID', os.getuid())
say('END OF SCRIPT')
sys.exit(7)
"""
        index.publish(scripted(script))
        told = shop.code("print('ran')", "mallory")
    said = told["stderr"]
    assert "END OF SCRIPT" in said, said
    assert "BREACH" not in said
    assert "SEEN [] [] ['uv']" in said
    assert "UID 1000" in said
    assert canary not in said + base64.b64encode(canary.encode()).decode()
    assert str(tmp_path) not in said
    assert "127.0.0.1:8000" not in said, "the relay's own address is nobody's business"


def test_a_daemon_that_a_build_script_leaves_is_gone_with_its_box(shop: Shop, index: Index, tmp_path: Path) -> None:
    script = """
import os, signal
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for number in (1, 2, 15): signal.signal(number, signal.SIG_IGN)
        os.closerange(0, 64)
        os.execv('/bin/sleep', ['sleep', '86399.25'])
    os._exit(0)
os.wait()
"""
    index.publish(scripted(script))
    assert shop.code("import mallory; print('ran')", "mallory")["stdout"] == "ran\n"
    shop.until(lambda: "86399.25" not in processes())


def processes() -> str:
    return subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout


def test_code_in_a_pth_file_runs_for_nobody(shop: Shop, index: Index) -> None:
    evil = "import os; open('/box/work/output/evil', 'w').close()\n"
    index.publish(wheel("mallory", files={"mallory.py": "x = 1", "mallory.pth": evil, "mallory-nspkg.pth": evil}))
    told = shop.code("import mallory, subprocess, sys; subprocess.run([sys.executable, '-c', '1'])", "mallory")
    assert told["status"] == "success"
    assert "files_produced" not in told
    assert shop.code("print(1)")["stdout"] == "1\n"


def test_programs_of_a_package_are_not_found_by_their_names(shop: Shop, index: Index) -> None:
    """uv refuses scripts that are named as interpreters are, but not files of that name in a folder called bin."""
    names = [*(f"bin/{name}" for name in ("python3", "ls", "sh")), "mallory-1.0.data/scripts/uname"]
    hijack = dict.fromkeys(names, "#!/bin/sh\necho HIJACKED\n")
    index.publish(wheel("mallory", files={"mallory.py": "x = 1", **hijack}))
    code = "import subprocess; subprocess.run('python3 -c \"print(1)\"; ls -d /; uname', shell=True)"
    assert shop.code(code, "mallory")["stdout"] == "1\n/\nLinux\n"


def test_a_package_of_one_is_not_there_for_another(shop: Shop, index: Index) -> None:
    index.publish(wheel("mallory", files={"json.py": "print('HIJACKED')", "mallory.py": ""}), wheel("alpha"))
    shop.code("import mallory", "mallory")
    look = "import json, os; print(json.__file__, os.path.exists('/packages/mallory.py'))"
    assert "/packages" not in shop.code(look)["stdout"]
    assert shop.code(look, "alpha")["stdout"].endswith("False\n")


def test_a_file_that_is_not_what_its_hash_says_is_refused(shop: Shop, index: Index, tmp_path: Path) -> None:
    mallory = wheel("mallory")
    index.publish(mallory)
    index.files.behave(index.path(mallory), corrupt)
    assert shop.code("import mallory", "mallory")["end_reason"] == "install_failed"
    assert_clean(shop, tmp_path)


def test_a_layer_beyond_its_limit_is_refused_by_name(
    make_shop: Callable[..., Shop], index: Index, tmp_path: Path
) -> None:
    shop = make_shop(layer_bytes=4 << 20)
    index.publish(wheel("mallory", files={"mallory/__init__.py": "", "mallory/bomb": b"\0" * (6 << 20)}))
    told = shop.code("import mallory", "mallory")
    assert told["end_reason"] == "install_failed"
    assert_clean(shop, tmp_path)


def test_a_build_that_eats_all_memory_is_ended_with_its_reason(
    make_shop: Callable[..., Shop], index: Index, tmp_path: Path
) -> None:
    shop = make_shop(build_memory=128 << 20)
    index.publish(scripted("hog = [bytearray(1 << 20) for _ in range(4096)]"))
    told = shop.code("import mallory", "mallory")
    assert told["end_reason"] == "install_failed"
    assert_clean(shop, tmp_path)


@pytest.mark.parametrize("behaviour", [slow, drip], ids=["slow", "dripping"])
@pytest.mark.parametrize("language", ["python", "node"])
@pytest.mark.serial
def test_an_index_that_is_slow_costs_no_more_than_the_limit(
    shop: Shop, index: Index, tmp_path: Path, behaviour: Callable[..., None], language: str
) -> None:
    index.publish(wheel("mallory"), tarball("mallory"))
    index.behave("/simple/mallory/" if language == "python" else "/npm/mallory", behaviour)
    reply = shop.ask("print('ran')", "mallory", timeout_seconds=2, language=language)
    assert reply.elapsed.total_seconds() <= 3.0
    told = reply.json()
    assert told["stderr"].startswith("package installation failed: timed out after 2 seconds")
    assert told["execution_time_ms"] == 0
    assert_clean(shop, tmp_path)


def test_an_npm_package_that_attacks_reaches_nothing(shop: Shop, index: Index, tmp_path: Path, canary: str) -> None:
    script = """
const fs = require('fs');
console.error('ENV', JSON.stringify(process.env));
for (const work of [() => fs.symlinkSync('/etc/passwd', '../evil'), () => fs.writeFileSync('/tools/evil', '')])
  try { work() } catch (wrong) { console.error('refused', wrong.code) }
"""
    mallory = tarball("mallory", files={"index.js": "", "x.js": script}, package={"scripts": {"install": "node x.js"}})
    index.publish(mallory)
    told = shop.code("console.log('ran')", "mallory", language="node")
    assert (told["end_reason"], told["stdout"]) == ("install_failed", "")
    assert "what evil left is not taken: 'evil' is a symbolic link" in told["stderr"]
    assert canary not in told["stderr"]
    assert_clean(shop, tmp_path)


@pytest.fixture
def leftovers(tmp_path: Path) -> list[Path]:
    """What a server that was killed while it installed leaves in its data folder."""
    data = tmp_path / "data"
    halves = [data / "layers" / name for name in ("building-0123", "gone-4567", "0" * 32)]
    halves.append(data / "packages" / "builds" / "build-89ab")
    for folder in halves:
        folder.mkdir(parents=True)
        (folder / "half").write_text("")
    record = data / "packages" / "layers" / f"{'1' * 32}.json"
    record.parent.mkdir(parents=True)
    record.write_text("{")
    return [*halves, record]


def test_what_a_killed_server_left_half_made_is_gone_at_the_next_start(
    leftovers: list[Path], make_shop: Callable[..., Shop], index: Index
) -> None:
    index.publish(wheel("alpha"))
    shop = make_shop()
    shop.until(lambda: not any(path.exists() for path in leftovers))
    assert shop.code("import alpha; print(1)", "alpha")["stdout"] == "1\n"


def test_a_layer_whose_folder_somebody_removed_is_made_again(shop: Shop, index: Index) -> None:
    index.publish(wheel("alpha"))
    shop.code("import alpha", "alpha", env_name="ds")
    [layer] = shop.layers()
    os.rename(shop.store / layer, shop.store.parent / "elsewhere")
    assert shop.code("import alpha; print(1)", "alpha")["stdout"] == "1\n"
    asked = len(index.asked)
    assert shop.code("import alpha; print(2)", env_name="ds")["stdout"] == "2\n"
    assert len(index.asked) == asked


def test_an_installer_that_never_stops_talking_is_heard_up_to_a_bound(shop: Shop, index: Index) -> None:
    """What it says in one line of megabytes, or in a million lines, would else be the server's work."""
    index.publish(
        scripted("import sys\nsys.stderr.write('x' * (3 << 20) + '\\n' * 10 + 'y\\n' * 100_000)\nsys.exit(3)")
    )
    body = {"code": "print('ran')", "requirements": ["mallory"], "limits": {"timeout_ms": 20_000}}
    text = shop.post("/v1/executions", body, accept="text/event-stream").text
    told = [block for block in text.split("\n\n") if block.startswith("event: progress")]
    assert 0 < len(told) <= 2 * MOST_LINES + 5
    assert max(map(len, told)) < 2 * LONGEST_LINE
    assert "install_failed" in text
    assert shop.code("print(1)")["stdout"] == "1\n"


def test_a_disk_without_room_for_the_installer_is_said_so_and_nothing_is_left(
    make_shop: Callable[..., Shop], index: Index, tmp_path: Path
) -> None:
    index.publish(wheel("alpha"))
    small = tmp_path / "data"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "none", str(small)], check=True)
    try:
        shop = make_shop()
        for _ in range(2):
            reply = shop.ask("import alpha", "alpha")
            assert reply.status_code == 500
            assert "uv could not be put into the store of layers: No space left on device" in reply.json()["error"]
        assert shop.remains() == []
        assert shop.layers() == []
        assert shop.code("print(1)")["stdout"] == "1\n"
        shop.close()
    finally:
        subprocess.run(["umount", "--lazy", str(small)], check=True)
