"""Drydock: runs code that nobody has read, in boxes it cannot leave.

Rooms, from the top down; imports go downward only (`make check` proves it):

    cli/       the command line; a client of /v1, except `serve`
    app.py     composition: builds every room from Settings and joins them
    notices.py what an operator is told at start
    run_joints.py   how runs are joined to the rooms below
    dialects/  each translates one wire contract to the rooms below and back
    api/       the native HTTP API and what every door needs (access, bounds, ids)
    agent/     who thinks: plans, tools that act in a box, the gate; any model behind a small Protocol
    run/       the life of a run: admission, journal, control, what survives a dead worker
    code/      one-shot execution: a request with code in, a result out
    forge/     repositories: cloned, exchanged with boxes, compared, committed, pushed
    packages/  what code requires: installed once in a box, mounted ever after
    egress/    the one way out of a box: a relay with grants, on one of its doors
    model/     models: names, providers, prices, tries and fallbacks
    box/       isolation: processes, namespaces, cgroups, files. No HTTP, no runs
    access/    who may call: keys, tokens, loopback rules
    store/     database, objects, secrets sealed at rest, retention
    observe/   structured logs and metrics
    settings.py, dev_vars.py, errors.py   what every room may know
"""

__version__ = "0.1.0"
