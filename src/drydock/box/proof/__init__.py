"""The self-proof: programs that try to get out, through whatever walls there are, and what must come of them.

A version number or a kernel option says what should hold; these say what does. Each attempt is written from the attack
and must be seen to fail; beside them stands one that must succeed, since a wall behind which nothing runs holds against
everything.

    attempt.py     what an attempt is: the promise it aims at, its program, its judge, what to do when it gets through
    attempts/      the attempts, as data
    planted.py     what they look for: canaries in files, processes and listeners of the host
    examine.py     plays them on a tier, all of them or the quick ones as one program
    mounts.py      what a program cannot try by itself: links that a box's mounts would meet

Comes in: a tier that has started. Goes out: findings, one for each attempt. Must never be known here: HTTP, requests,
and how findings are shown.
"""

from drydock.box.proof.examine import examine, quick

__all__ = ["examine", "quick"]
