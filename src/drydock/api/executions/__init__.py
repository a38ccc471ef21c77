"""Executions as the doors handle them, and their native form under /v1/executions.

    places.py    how many may run at once, and who waits
    output.py    what a program has written so far, cut into numbered pieces
    live.py      one execution of this process, from its order to its end
    desk.py      all of them: order, find, cancel, drain; the one way from any door to code.Executor
    archive.py   what is kept of them
    orders.py    a native request's body, checked
    fields.py    types and bounds of a body's fields, and errors that name them
    names.py     names of input files, globs of outputs
    render.py    the native form of an execution
    events.py    the same as server-sent events
    doors.py     the routes

In: orders with code. Out: results, events. Must never be known here: how a box works, what a dialect looks like.
"""
