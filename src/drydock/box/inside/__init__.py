"""What runs inside a box before, and on behalf of, the tenant. Nothing here is ever imported by the server.

The supervisor copies these files into each slot as the package `_drydock`; they are run by the interpreter of
DRYDOCK_PYTHON (3.9 or newer), so they use the standard library alone.

    kernel.py    the system calls that the standard library lacks
    zygote.py    the warm interpreter of a slot: parks one box ahead, reports how it ended
    held.py      the same for a held box: many programs, one after the other or side by side
    stage.py     what a parked box is made of: mounts, doors, then the drop of every privilege
    tenant.py    from the job's head to the tenant's first instruction
    gvisor.py    the same inside a gVisor sandbox of its own, made for one program
    guest.py     the first program in that sandbox: starts the tenant there and tells how it ended
    python.py    runs Python source in the warm interpreter as `python3 main.py` would
    plots.py     brings matplotlib's figures back as PNG
"""
