"""The native HTTP API (/v1), and what every door needs: bounds, ids, errors turned into replies, the server itself.

    wire.py      the connection: slow clients, heads and bodies that never end, ambiguous framing
    border.py    the outermost application: request id, the one place where errors become replies, a log line
    call.py      one request on its way; router.py finds its door; body.py reads it; text.py is JSON, read strictly
    shapes.py    how the native API shows an error
    guard.py     who calls
    executions/  /v1/executions: orders, running executions, results, events
    pages.py     /health, /metrics, /openapi.json, /docs
    listening.py, running.py, folder_lock.py   the server's life

In: HTTP. Out: HTTP, and calls of code.Executor. Must never be known here: how a box works.
"""
