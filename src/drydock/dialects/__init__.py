"""The wire contracts of the five seeds, each translated to the rooms below and back.

    code/       contract `code`: run a snippet, get its output
    polychat/   contract `polychat`: a task becomes a tested commit, live on a stream
    shapes.py   which contract a bare POST /execute is written in
    forms.py    how each contract shows an unknown path and a door that does not exist yet
    bare.py     the bare paths, and the united /health

In: HTTP in a contract's own form. Out: the same. Must never be known here: how a box works, what a table looks like.
"""
