"""Packages that code asks for: installed once, in a box of their own, into read-only layers that later boxes mount.

    specifiers.py    what a requirement may look like
    wanted.py        what one request asks for, and the key by which the same is known again
    index.py         which index it comes from: the server's own, one that is allowed, the installer's default
    installer.py     what both installers have in common: a program in the build box, its words, its end
    python.py        uv: what it is told in the box, and how its lock is read
    npm.py           npm: the same
    tools.py         uv's program, as a layer of its own
    bench.py         where an installer works: a held box, or gVisor
    build.py         one installation: a box, a relay on its door, an installer, a tree carried out
    builds.py        each of them once at a time, for as long as anybody waits for it
    failed.py        why one did not come about
    layers.py        the trees on disk: found, in use, evicted, cleaned up after a crash
    environments.py  names that callers give to layers
    report.py        how a request came by its packages, for the reply
    packages.py      all of it together: layers for a request, and the account of how it came by them

In: names and versions, an index. Out: the names of folders in the yard's store, and where a box mounts them.
Never known here: HTTP replies, languages' programs, who may call. Nothing that an installer left is walked by path,
and no credential enters a box: the relay adds it outside (see egress/).
"""
