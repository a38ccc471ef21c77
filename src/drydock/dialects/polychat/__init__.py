"""Contract `polychat`: a task and a repository in, a plan, commands, a gate, a diff and a commit out, live on a stream.

Two doors. The worker's takes one request and answers with the run's stream or its result; the users' API starts runs,
lists, watches and steers them. Both are views of the record and the journal that the native API shows too.

doors.py         both of them, under the prefix and at the bare root
fields.py        fields of a body, read one by one; every one that is wrong is noted
body.py          bodies and queries of the users' API
order.py         a body that asks for a run, in both of its forms
policy.py        its delivery policy and model settings
events.py        an event of the journal in this contract's words and order
stream.py        those events as frames, with the end marker
result.py        a run's result object
record.py        a run as users see it: record, control, result
starts.py        runs started, by either door
worker.py        POST /execute
users.py         the users' API: start, list, show, artefacts, quota
control.py       pause, resume, cancel and what a worker asks of them
instructions.py  what people say to a run, and their answers
shape.py         errors in the form of each door
openapi.py       its part of the OpenAPI document

Webhooks and connections to forges have their routes here and no door yet.
"""
