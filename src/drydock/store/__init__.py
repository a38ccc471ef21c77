"""What outlives a process: the database, the objects beside it, secrets sealed at rest.

    folder.py      the data folder: private files, made once
    database.py    one SQLAlchemy engine; `read` and `write` transactions
    migrations/    the schema's history, and `migrate`
    tables.py      the schema as it is now
    execution.py   the record of one execution
    executions.py  the records of all: reserve, write behind, get, list, interrupt, expire
    writer.py      the one thread that writes records behind the answers
    retention.py   the loop that forgets what is past its time
    workers.py     who carries runs, and when each was last heard of
    notices.py     word from process to process that something was committed
    periodic.py    a thread that does one thing again and again
    objects.py     blobs by key: a folder or a cloud's bucket
    sealing.py     authenticated encryption under the operator's key
    secrets.py     named secrets, sealed
    lent.py        credentials that callers lend to one run, sealed

In: records, bytes, names. Out: the same. Everything here is synchronous and meant for worker threads; what may be
called on an event loop says so. Never known here: HTTP, boxes, who may call (a caller is an opaque string).
"""
