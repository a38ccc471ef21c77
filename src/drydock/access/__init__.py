"""Who may call.

    caller.py    who calls, and which doors that opens
    keys.py      API keys: made, listed, revoked, found; only a digest of each is kept
    ring.py      the keys as the running server knows them, at most a second old
    tokens.py    users' tokens: signed by whoever shares the secret with us
    gate.py      the rules: what a request shows of itself, and whether it may pass

In: what a request shows (`Knock`), settings, the snapshot of the keys. Out: a `Caller`, or Unauthorized, or Forbidden.
Never known here: HTTP frameworks, routes, what the caller wants.
"""
