"""Runs over HTTP: started, listed, watched, steered.

orders.py   the body of POST /v1/runs, checked and turned into a spec
render.py   a run as JSON
doors.py    start, list, show, events
control.py  pause, resume, cancel, messages, approvals, one command ended
artefacts.py what a run has made, to be taken away
diff.py     what a run has changed, whole or by turn
stream.py   a run's journal as server-sent events

In: requests. Out: the record and the journal as they are. Never known here: how a run is carried.
"""
