"""The disk of a held box: as root a sparse ext4 image, so that the kernel itself holds its size, else a folder."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from drydock.errors import BoxFailed

MKFS = "/usr/sbin/mkfs.ext4"
LOOP_CONTROL = "/dev/loop-control"
BYTES_PER_INODE = 8192
SMALLEST_BYTES = 8 << 20


@dataclass(frozen=True, slots=True)
class Disk:
    folder: str
    """Host folder that becomes /box where there is no image; with one, the folder that the image lies in."""
    image: str | None

    @property
    def has_hard_limit(self) -> bool:
        return self.image is not None


def can_make_images() -> bool:
    return os.geteuid() == 0 and os.access(MKFS, os.X_OK) and os.path.exists(LOOP_CONTROL)


def make(home: Path, size_bytes: int, uid: int | None) -> Disk:
    """A new and empty disk below `home`, or the one that is there already."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not can_make_images() or uid is None:
        folder = home / "disk"
        folder.mkdir(mode=0o700, exist_ok=True)
        if uid is not None:
            os.chown(folder, uid, uid)  # ours and empty still: no tenant has been here
        return Disk(str(folder), None)
    image = home / "disk.img"
    if not image.exists():
        _make_image(image, max(size_bytes, SMALLEST_BYTES), uid)
    return Disk(str(home), str(image))


def _make_image(image: Path, size_bytes: int, uid: int) -> None:
    unfinished = image.with_suffix(".new")
    unfinished.unlink(missing_ok=True)
    fd = os.open(unfinished, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        os.truncate(fd, size_bytes)
    finally:
        os.close(fd)
    # No journal: the disk dies with its box, and what must outlive it is in a snapshot.
    options = ["-O", "^has_journal", "-m", "0", "-i", str(BYTES_PER_INODE), "-E", f"root_owner={uid}:{uid},nodiscard"]
    made = subprocess.run(
        [MKFS, "-q", "-F", *options, str(unfinished)], capture_output=True, text=True, timeout=60, check=False
    )
    if made.returncode != 0:
        unfinished.unlink(missing_ok=True)
        raise BoxFailed("the box's disk could not be made", hint="Look for room in the data folder.")
    unfinished.rename(image)
