"""`drydock run` and `drydock runs`: a task given to an agent on a server, watched and steered from a terminal.

    start.py       `drydock run`: what is asked for, and where its result goes
    group.py       `drydock runs`: list, show, pause, resume, cancel, say, approve, diff, logs
    calls.py       the calls to /v1/runs
    follow.py      a run watched live: connections that break, Ctrl-C, questions
    view.py        its events as lines of a terminal
    words.py       what is said of each kind of event
    tables.py      runs as text
    repository.py  a repository on the caller's own disk: its HEAD goes out, a branch comes back

In: arguments. Out: text or JSON, and exit codes. A run is not its follower's: whoever hangs up stops nothing.
"""
