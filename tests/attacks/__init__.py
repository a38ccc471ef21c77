"""Hostile programs against the real server, one a test.

row.py          what a row is: the attack, its harmless twin, what must hold
play.py         runs a row in an arena and judges what it left: neighbours, survivors, load, secrets
families/       the rows, by where attacks come from (design/security.md)
arena.py        the two arenas: Drydock, and a bare subprocess server that every row must defeat
started.py      `drydock serve` as users start it, in a folder full of planted secrets
canaries.py     the planted secrets, and the search for them in every reply
aids/           what the hostile programs import
relay.py        the same for what is asked of a box's way out
test_relay.py   its rows, a plain proxy that must lose to them, and the relay with one defence taken out
test_rows.py    every row against Drydock
test_control.py every row against the bare server, where each must succeed
test_knockouts.py  Drydock with one defence taken out (knockouts.py, package_knockouts.py), which the rows must notice
"""
