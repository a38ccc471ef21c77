"""The watchdog itself: a program of its own, which goes on when its server is stopped, killed or stuck.

    python3 -I -S watch.py FD LIMIT_S

Over a socket it is told `renew`, and `guard N` with the handles of a box: a pidfd, and where there are control groups
the file that kills one and the file that thaws one. After LIMIT_S without a renewal, and at its server's end, it kills
every box that it was told of. It imports nothing that a start would wait for.
"""

import array
import os
import signal
import socket
import sys
import time

HANDLES = ("process", "kill", "thaw")
guarded: "dict[str, dict[str, int]]" = {}


def receive(channel: socket.socket) -> "list[str]":
    """The words of one message; what a guarded box hands over is kept."""
    size = array.array("i").itemsize
    data, ancillary, _, _ = channel.recvmsg(1024, socket.CMSG_SPACE(len(HANDLES) * size))
    fds = array.array("i")
    for level, kind, part in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds.frombytes(part[: len(part) - len(part) % size])
    words = data.decode().split()
    if words and words[0] == "guard":
        guarded[words[1]] = dict(zip(words[2:], fds))  # noqa: B905 - the box's handles, named in the message
    return words


def forget(name: str) -> None:
    for fd in guarded.pop(name, {}).values():
        os.close(fd)


def kill_all() -> None:
    for name in list(guarded):
        handles = guarded[name]
        for what, text in (("kill", b"1"), ("thaw", b"THAWED")):
            if what == "thaw":
                kill_process(handles)
            if what in handles:
                try:
                    os.write(handles[what], text)
                except OSError:
                    continue  # the group is gone, and so is all that was in it
        forget(name)


def kill_process(handles: "dict[str, int]") -> None:
    """A frozen process of v1 dies only once it is thawed, which comes after this."""
    try:
        signal.pidfd_send_signal(handles["process"], signal.SIGKILL)
    except ProcessLookupError:
        return


def watch(channel: socket.socket, limit_s: float) -> None:
    renewed = time.monotonic()
    while True:
        left = renewed + limit_s - time.monotonic()
        if left <= 0:
            kill_all()
            channel.settimeout(None)
        else:
            channel.settimeout(left)
        try:
            words = receive(channel)
        except TimeoutError:
            continue
        if not words:  # the server's end is the end of the boxes too
            kill_all()
            return
        if words[0] == "renew":
            renewed = time.monotonic()
        elif words[0] == "forget":
            forget(words[1])


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    watch(socket.socket(fileno=int(sys.argv[1])), float(sys.argv[2]))
