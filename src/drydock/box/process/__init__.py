"""The tier without walls: programs as plain processes, with limits and an end, and nothing else.

    runner.py    one folder and one launcher for each program; the same promises of `Tier` as any other
    launch.py    the launcher, a program of its own: starts the tenant, waits for it, kills all that it left

Only ever used when the setting says so. Where the server is root a program has a uid of its own; it still sees every
file that this host shows to everybody, every process, and the network.
"""

from drydock.box.process.runner import Processes

__all__ = ["Processes"]
