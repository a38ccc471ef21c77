"""System calls by allow-list: which ones tenant code may make, and the filter that holds it to them.

    policy.toml      what is allowed, by name and argument, with a reason for each group; the rest is refused
    numbers.toml     names to numbers on x86-64 and aarch64
    policy.py        reads both into typed values; anything it does not know is an error
    bpf.py           the instructions of classic BPF, as bytes
    compiler.py      policy and numbers to a program for one machine
    interpreter.py   runs a program on a call, without the kernel

Comes in: the name of a machine. Goes out: the bytes of its program, which the supervisor compiles once and hands to
the box, where one prctl installs them. Must never be known here: boxes, tenants, processes.
"""

from drydock.box.seccomp.compiler import layer_bytes, program_bytes

__all__ = ["layer_bytes", "program_bytes"]
