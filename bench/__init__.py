"""Measurements of the figures that the project promises, each a ratio or a bound taken in one run on one machine.

python -m bench [NAME] [--json] [--no-note]

figure.py     a figure, its bound, and the page of results that it is noted on
server.py     the real `drydock serve` on a free port, and what it and its children hold
baseline.py   the naive server that the ratios are against
http_load.py  keep-alive clients that cost little beside what they measure
code.py       the time of one call, and the throughput of sixteen clients, against the baseline
idle.py       memory of an idle server, and what thousands of executions leave behind
kill.py       programs that will not die, and how soon they are dead
"""
