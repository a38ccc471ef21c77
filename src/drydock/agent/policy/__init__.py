"""What a command is, before it runs: refused, asked for, or run.

    classes.toml    the classes and their words, as data
    shell.py        a command line read as a shell would, so that a word is told from a quoted text
    classes.py      the class of each simple command
    read_only.py    the list of what a task that changes nothing may run
    judge.py        the verdict, by trust level; in the order malformed, forbidden, read-only, then ask

The policy keeps an honest agent from mistakes, and says early and in words what would fail. It is no wall: whatever
slips through its patterns runs in a box without network or credentials, and for read-only tasks on a read-only mount.
"""
