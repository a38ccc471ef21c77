"""The step between server and bubblewrap, a program of its own: enter the groups, stage the mounts, stop being root.

    python3 -I -S launch.py '{"procs": [...], "uid": 300001, ...}'      (fd 3: the slot's control socket)

It runs with an empty environment and becomes bubblewrap (same process, so bubblewrap dies with the thread that
started us). What it mounts lives in a mount namespace that only this box has: the kernel removes it with the box,
also when the server was killed.
"""

import ctypes
import errno
import fcntl
import json
import os
import resource
import struct
import sys

STAGE = b"/tmp"  # any folder that every host has; covered in our own mount namespace only
LOOP_CONTROL, LOOP_CTL_GET_FREE, LOOP_CONFIGURE, LO_FLAGS_AUTOCLEAR, LOOP_TRIES = (
    "/dev/loop-control",
    0x4C82,
    0x4C0A,
    4,
    64,
)
# struct loop_config: fd, block size, then struct loop_info64 with lo_flags at its offset 52
LOOP_CONFIG = struct.Struct("=II52xI176x64x")
UID_INSIDE, NOBODY, CLONE_NEWUSER = 1000, 65534, 0x10000000
CLONE_NEWNS, MS_NOSUID, MS_NODEV, MS_BIND, MS_REC, MS_PRIVATE = 0x20000, 2, 4, 4096, 16384, 1 << 18


def main() -> None:
    order = json.loads(sys.argv[1])
    if order["ctl"] != 3:
        os.dup2(order["ctl"], 3)
    for path in order["procs"]:
        fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        os.write(fd, b"0")
        os.close(fd)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Opened before the stage covers the folder that they may be in.
    files = [(open_inherited(source), inside) for source, inside in order["files"]]
    binds = []
    if order["uid"] is not None and order["staged"]:
        binds = stage(order["staged"], order["image"])
    else:
        binds = [(source, inside) for source, inside in order["staged"]]
    arguments = list(order["arguments"])
    for source, inside in binds:
        writable = inside == "/box"
        arguments += ["--bind" if writable else "--ro-bind", source, inside]
    for fd, inside in files:
        arguments += ["--perms", "0444", "--file", str(fd), inside]
    for inside, text in order["texts"].items():
        arguments += ["--perms", "0444", "--file", str(text_inherited(text)), inside]
    arguments += ["--remount-ro", "/"]
    if order["beside"]:
        enter_user_namespace(order["uid"], *order["beside"])
    elif order["uid"] is not None:
        os.setgroups([])
        os.setresgid(order["uid"], order["uid"], order["uid"])
        os.setresuid(order["uid"], order["uid"], order["uid"])
    # Arguments by descriptor: what bubblewrap was told is nobody's business in the box's /proc.
    told = text_inherited("\0".join(arguments) + "\0")
    os.execve(order["bwrap"], ["bwrap", "--args", str(told), "--", *order["command"]], {})


def enter_user_namespace(tenant: int, root: int, nobody: int) -> None:
    """Become root of a new user namespace that knows three uids of the host, none of which is anybody's."""
    libc = ctypes.CDLL(None, use_errno=True)
    ours, theirs = os.pipe(), os.pipe()
    launcher, lines = os.getpid(), "0 %d 1\n%d %d 1\n%d %d 1\n" % (root, UID_INSIDE, tenant, NOBODY, nobody)
    writer = os.fork()
    if writer == 0:
        # Only a process outside may map more uids than its own.
        os.read(ours[0], 1)
        for name in ("uid_map", "gid_map"):
            with open("/proc/%d/%s" % (launcher, name), "w") as table:
                table.write(lines)
        os.write(theirs[1], b"!")
        os._exit(0)
    if libc.unshare(CLONE_NEWUSER) != 0:
        raise OSError(ctypes.get_errno(), "unshare user namespace")
    os.write(ours[1], b"!")
    os.close(theirs[1])
    os.read(theirs[0], 1)
    os.waitpid(writer, 0)
    os.setgroups([])
    os.setresgid(0, 0, 0)
    os.setresuid(0, 0, 0)
    for fd in (*ours, theirs[0]):
        os.close(fd)


def stage(wanted: "list[list[str]]", image: "str | None") -> "list[tuple[str, str]]":
    """Make host folders, and the disk of a held box, reachable for a uid that may not walk to them."""
    libc = ctypes.CDLL(None, use_errno=True)

    def check(result: int, what: str) -> None:
        if result != 0:
            code = ctypes.get_errno()
            raise OSError(code, f"{what}: {os.strerror(code)}")

    if image is not None:
        device, loop = attach(image)  # before the stage covers the folder that it may be in
    check(libc.unshare(CLONE_NEWNS), "unshare")
    check(libc.mount(b"none", b"/", None, ctypes.c_ulong(MS_REC | MS_PRIVATE), None), "make mounts private")
    # In the new namespace, whose mounts alone can be bound here, and before the stage covers what they may be in.
    sources = [os.open(source, os.O_PATH | os.O_CLOEXEC) for source, _ in wanted]
    check(libc.mount(b"tmpfs", STAGE, b"tmpfs", ctypes.c_ulong(MS_NOSUID | MS_NODEV), b"mode=0755"), "mount stage")
    binds = []
    for number, (fd, (_, inside)) in enumerate(zip(sources, wanted)):
        place = STAGE + b"/%d" % number
        os.mkdir(place, 0o755)
        if inside == "/box" and image is not None:
            flags = ctypes.c_ulong(MS_NOSUID | MS_NODEV)
            check(libc.mount(device.encode(), place, b"ext4", flags, b"errors=remount-ro"), "mount disk")
            os.close(loop)  # the mount holds the device now, and lets go of it when the box is gone
        else:
            source = b"/proc/self/fd/%d" % fd
            check(libc.mount(source, place, None, ctypes.c_ulong(MS_BIND | MS_REC), None), f"bind {inside}")
        binds.append((os.fsdecode(place), inside))
    return binds


def attach(image: str) -> "tuple[str, int]":
    """A loop device over the image that the kernel takes away by itself after its last use."""
    with open(LOOP_CONTROL, "rb") as control, open(image, "r+b") as backing:
        config = LOOP_CONFIG.pack(backing.fileno(), 0, LO_FLAGS_AUTOCLEAR)
        for _ in range(LOOP_TRIES):
            device = "/dev/loop%d" % fcntl.ioctl(control, LOOP_CTL_GET_FREE)
            loop = os.open(device, os.O_RDWR | os.O_CLOEXEC)
            try:
                fcntl.ioctl(loop, LOOP_CONFIGURE, config)
            except OSError as wrong:
                os.close(loop)
                if wrong.errno != errno.EBUSY:  # another box took the same free device first
                    raise
            else:
                return device, loop
    raise OSError(errno.EBUSY, "no free loop device")


def open_inherited(path: str) -> int:
    fd = os.open(path, os.O_RDONLY)
    os.set_inheritable(fd, True)
    return fd


def text_inherited(text: str) -> int:
    fd = os.memfd_create("text", 0)
    os.write(fd, text.encode())
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


if __name__ == "__main__":
    main()
