"""The life of a run: a task that was asked for becomes one truthful ending, whatever dies on the way.

    spec.py       what was asked, as it is kept
    records.py    the stores of runs, opened together
    admission.py  a run accepted: within quotas, recorded, enqueued
    engine.py     the durable engine: which runs are to be carried, and by whom (DBOS behind four verbs)
    worker.py     carries runs in this process: claims, plays, ends, parks, hands back
    walk.py       prepare, plan, work, gate, deliver: a run from its beginning to its result
    parts.py      what the walk needs of other rooms
    phases/       those parts, over real repositories, boxes and models
    desk.py       the desk of one run that is being carried: events, steps done once, checkpoints, questions
    ledger.py     its records, each write fenced by its epoch
    known.py      what a run had done before, read at once by whoever plays it again
    steering.py   control of a run that is being carried: pause, resume, stop, time
    clock.py      what is left of a run's time
    control.py    what people do to a run: pause, resume, cancel, say, answer
    ending.py     how a run ends, once
    logs.py       what its commands wrote, out of the journal
    artefacts.py  what a run leaves to be taken away; patch.py its patch, one file at a time
    turns.py      what one of its turns has changed, made from snapshots when it is asked for
    keeper.py     takes up what nothing carries, and brings parked questions to their end
    workspace.py  the held box of one run, and the snapshots that outlive it
    berth.py      one box of a run; site.py programs in it
    way_out.py    its way to the package indexes, while a command has the grant
    lease.py      this worker's lease, where several share a database
    watchdog.py   kills the boxes of a worker whose lease was not renewed; watch.py is the program itself
    fence.py      lease, watchdog and word from the other processes
    room.py       all of it put together
    wakes.py      who is told that a run has changed

In: a spec and a caller. Out: a record, a journal, a result; every view of a run is a projection of these.
Never known here: HTTP, the shape of any contract's reply, a provider's wire format.
"""
