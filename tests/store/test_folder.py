import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from drydock.errors import CannotStart
from drydock.store.folder import write_once
from drydock.store.periodic import Periodic


def test_a_file_is_written_once_and_leaves_no_draft(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_once(path, b"first")
    write_once(path, b"second")
    assert path.read_bytes() == b"first"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_of_many_writers_at_once_one_wins_whole(tmp_path: Path) -> None:
    path = tmp_path / "file"
    start = threading.Barrier(16)

    def write(number: int) -> bytes:
        start.wait(30)
        write_once(path, bytes([number]) * 1000)
        return path.read_bytes()

    with ThreadPoolExecutor(16) as crowd:
        seen = set(crowd.map(write, range(16)))
    assert len(seen) == 1
    assert len(set(seen.pop())) == 1
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(CannotStart, match="cannot be written"):
        write_once(tmp_path / "none" / "file", b"x")


def test_a_failure_does_not_end_what_is_done_again_and_again(caplog: pytest.LogCaptureFixture) -> None:
    turns = 0
    often = threading.Event()

    def fail() -> None:
        nonlocal turns
        turns += 1
        if turns == 3:
            often.set()
        raise RuntimeError("no luck")

    loop = Periodic("drydock-test", 0.001, fail)
    assert often.wait(30)
    loop.close()
    assert caplog.text.count("drydock-test failed") == 1
    assert "no luck" in caplog.text
