import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from drydock.errors import BadSetting, Unavailable
from drydock.store.objects import MemoryObjects, ObjectStore, open_objects

Open = Callable[[Path], ObjectStore]
STORES: dict[str, Open] = {
    "memory": lambda data: MemoryObjects(),
    "folder": lambda data: open_objects("", data),
    "file_url": lambda data: open_objects(f"file://{data}", data),
    "bucket": lambda data: open_objects("memory:///", data),
}


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ObjectStore:
    return STORES[request.param](tmp_path)


def test_an_object_comes_back_whole(store: ObjectStore) -> None:
    content = bytes(range(256)) * 40000
    store.put("executions/a/0", content)
    store.put("executions/a/1", b"")
    assert store.get("executions/a/0") == content
    assert store.get("executions/a/1") == b""


def test_a_second_put_replaces_the_first(store: ObjectStore) -> None:
    store.put("a", b"long content")
    store.put("a", b"short")
    assert store.get("a") == b"short"


def test_a_missing_object_is_none(store: ObjectStore) -> None:
    assert store.get("executions/none/0") is None


def test_deleting_takes_the_named_ones_and_bears_missing_ones(store: ObjectStore) -> None:
    for key in ("executions/a/0", "executions/a/1", "executions/b/0"):
        store.put(key, b"x")
    store.delete(["executions/a/0", "executions/none/0", "executions/a/1"])
    assert [store.get(f"executions/{name}") for name in ("a/0", "a/1", "b/0")] == [None, None, b"x"]
    store.delete([])


@pytest.mark.parametrize(
    "key",
    ["", "/", "/etc/passwd", "../a", "a/../b", "a/..", "a//b", "a/", ".hidden", "a\x00b", "a b", "a\n", "é", "a%2fb"],
)
def test_a_key_that_is_not_plain_never_becomes_a_path(store: ObjectStore, key: str) -> None:
    with pytest.raises(ValueError, match="not an object key"):
        store.put(key, b"x")
    with pytest.raises(ValueError, match="not an object key"):
        store.get(key)
    with pytest.raises(ValueError, match="not an object key"):
        store.delete([key])


def test_the_folder_is_for_the_owner_alone_and_keeps_no_empty_folders(tmp_path: Path) -> None:
    store = open_objects("", tmp_path / "data")
    store.put("executions/a/0", b"x")
    store.delete(["executions/a/0"])
    folder = tmp_path / "data" / "objects"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert list(folder.iterdir()) == []


def test_objects_outlive_the_store_that_put_them(tmp_path: Path) -> None:
    open_objects("", tmp_path).put("a", b"x")
    assert open_objects("", tmp_path).get("a") == b"x"


def test_a_store_that_cannot_write_is_unavailable(tmp_path: Path) -> None:
    store = open_objects("", tmp_path)
    # A file where the store needs a folder: holds for root too, whom modes do not stop.
    (tmp_path / "objects" / "executions").touch()
    with pytest.raises(Unavailable) as refused:
        store.put("executions/a/0", b"x")
    assert str(tmp_path) not in refused.value.message


@pytest.mark.parametrize("url", ["ftp://h/x", "bucket", "http://h/x", "file://host/x"])
def test_a_url_of_no_known_store_is_refused(url: str, tmp_path: Path) -> None:
    with pytest.raises(BadSetting):
        open_objects(url, tmp_path)
