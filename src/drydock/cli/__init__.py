"""The command line. `drydock serve` starts the server; every other command is a client of it or keeps its data folder.

    main.py      the list of commands, each imported when it is called
    serve.py     the server, its flags made from Settings
    execute.py   `drydock exec`: one program, run on a server, its streams and exit code as one's own
    runs/        `drydock run` and `drydock runs`: a task for an agent, watched and steered
    demo/        `drydock demo`: one run with a scripted model, on a server of its own
    bundle.py    files on their way in and out, from and to the caller's disk
    client.py    the calls to /v1 and the stream of events that comes back
    doctor.py    the wall proved on this host
    bench.py     the measurements of the source tree
    keys.py, secrets.py   what an operator keeps in the data folder

In: arguments, files and variables of the person who types. Out: exit codes, and one sentence with a remedy on stderr
when something is wrong. Never known here: how a box works.
"""

from drydock.cli.main import main

__all__ = ["main"]
