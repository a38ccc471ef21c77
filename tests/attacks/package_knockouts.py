"""The defences against packages that attack, one at a time taken out: see knockouts.py."""

from __future__ import annotations

from tests.attacks.knockouts import CARRY, COLLECT, LAUNCH, NO_FILTER, STAGE, Edit, Knockout

BUILD = "packages/build.py"
LAYER_KEYS = "packages/wanted.py"
PYTHON = "packages/python.py"

PACKAGE_KNOCKOUTS = (
    Knockout(
        "layers that nobody can write, by their mount and by their modes, and the filter before another kind of mount",
        [
            NO_FILTER,
            Edit(
                STAGE,
                'kernel.overlay(b"%s/%s:%s%s" % (STORE, key.encode(), STORE, EMPTY))',
                'kernel._call("open_tree", 428, -100, b"%s/%s" % (STORE, key.encode()), 0x80001)',
            ),
            Edit(LAUNCH, 'writable = inside == "/box"', 'writable = inside in ("/box", "/store")'),
            Edit(
                CARRY,
                "                self._bytes(read,",
                "                os.fchmod(write, 0o777)\n                self._bytes(read,",
            ),
            Edit(
                CARRY,
                "            os.mkdir(name, 0o755, dir_fd=into)\n",
                "            os.mkdir(name, 0o755, dir_fd=into)\n            os.chmod(name, 0o777, dir_fd=into)\n",
            ),
        ],
        ["a package rewritten by the code that has it"],
    ),
    Knockout(
        "the refusal of links on the way out of a build box, at each step",
        [
            Edit(CARRY, "if stat.S_ISLNK(kind):", "if False:"),
            Edit(CARRY, "follow_symlinks=False", "follow_symlinks=True"),
            Edit(COLLECT, "_RESOLVE = 0x01 | 0x02 | 0x04 | 0x08", "_RESOLVE = 0"),
            Edit(COLLECT, "os.O_CLOEXEC | os.O_NOFOLLOW |", "os.O_CLOEXEC |"),
        ],
        ["a build script that links a file of the host into the layer"],
    ),
    Knockout(
        "the bound on a layer's bytes",
        [Edit(CARRY, "if self.done.total_bytes > self._load.total_bytes:", "if False:")],
        ["a package of more bytes than a layer may have"],
    ),
    Knockout(
        "the end of a build box, and of all in it",
        [Edit(BUILD, "            await bench.close()\n", "            pass\n")],
        ["a daemon that a build script leaves behind"],
    ),
    Knockout(
        "the list in the name of a layer",
        [Edit(LAYER_KEYS, "str(grant.index), login, *wanted.requirements)", "str(grant.index), login)")],
        ["a package that runs for whoever comes next"],
    ),
    Knockout(
        "the login in the name of a layer",
        [Edit(LAYER_KEYS, "str(grant.index), login, *wanted", "str(grant.index), *wanted")],
        ["a package of a private index, found by its name without the login"],
    ),
    Knockout(
        "the request in the name of a layer, without which a lock is believed",
        [Edit(LAYER_KEYS, "return _digest(request, lock)", "return _digest(lock)")],
        ["a lock that is forged to be another list's"],
    ),
    Knockout(
        "hashes in the lock of Python packages",
        [
            Edit(PYTHON, ', "--generate-hashes")', ")"),
            Edit(
                "egress/pages/simple.py",
                'hashes": dict(file.hashes)}',
                'hashes": {}}',
            ),
        ],
        ["a file that is not what its hash says"],
    ),
    Knockout(
        "hashes of npm packages",
        [Edit("egress/pages/npm.py", '_DIST = ("integrity", "shasum", ', "_DIST = (")],
        ["a tarball that is not what its hash says"],
    ),
    Knockout(
        "the form of a requirement",
        [
            Edit(
                "packages/specifiers.py",
                'elif len(entry) > LONGEST or not entry.isprintable() or not form.fullmatch(entry.strip(" ")):',
                "elif False:",
            )
        ],
        ["a requirement that names another index", "a requirement that reads a file of the host"],
    ),
    Knockout(
        "the time that an installation has",
        [
            Edit(
                "packages/builds.py",
                "await asyncio.wait(ends, timeout=within_s,",
                "await asyncio.wait(ends, timeout=60,",
            )
        ],
        ["an index that drips"],
    ),
    Knockout(
        "the login kept out of the build box",
        [
            Edit(
                "packages/installer.py",
                "        self._index = str(grant.index)\n",
                "        self._index = str(grant.index)\n"
                "        self.login = {'LOGIN': grant.credential.authorization if grant.credential else ''}\n",
            ),
            Edit(
                "packages/installer.py",
                "    outcome = await bench.run(program,",
                "    from dataclasses import replace\n"
                "    program = replace(program, env={**program.env, **shown.login})\n"
                "    outcome = await bench.run(program,",
            ),
        ],
        ["a build script that looks for the login of the index"],
    ),
    Knockout(
        "the login kept to the index's own host",
        [
            Edit(
                "egress/packages.py",
                "return secret if all(hop.origin == own for hop in hops) else None",
                "return secret",
            )
        ],
        ["a build script that looks for the login of the index"],
    ),
)
