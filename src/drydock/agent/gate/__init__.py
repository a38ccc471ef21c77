"""The gate: the plan's own checks, on the change and on the untouched base.

select.py       which lines of a plan are checks
gate.py         each check on both, its account, the outcome
sensitive.py    changed paths that a person should look at: tests, CI, lint settings
"""
