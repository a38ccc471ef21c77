"""Forges: where repositories live, and where a run's work is delivered.

    git/   a repository's objects: fetched, exchanged with boxes, compared, committed, pushed

In: addresses, credentials, folders of boxes. Out: trees, patches, commits, branches on the remote.
Never known here: runs, agents, HTTP replies. What a forge or a tenant sent is read inside a box, never beside it.
"""
