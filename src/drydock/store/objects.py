"""Blobs by key: a folder, or a bucket of S3, GCS or Azure through obstore, or this process's memory."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from drydock.errors import BadSetting, CannotStart, Unavailable
from drydock.store.folder import make_folder

if TYPE_CHECKING:
    from obstore.store import ObjectStore as Bucket

_KEY = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*")
_SCHEMES = ("s3://", "s3a://", "gs://", "az://", "azure://", "abfs://", "abfss://", "file:///", "memory:///")


class ObjectStore(Protocol):
    """Whole objects, put atomically. For worker threads. Unavailable when the store does not answer."""

    def put(self, key: str, data: bytes) -> None: ...

    def get(self, key: str) -> bytes | None:
        """None when there is none."""
        ...

    def delete(self, keys: Iterable[str]) -> None:
        """One that is missing is deleted already."""
        ...


class MemoryObjects:
    """Objects for as long as the process lives."""

    def __init__(self) -> None:
        self._objects: dict[str, bytes] = {}
        self._lock = threading.Lock()

    def put(self, key: str, data: bytes) -> None:
        with self._lock:
            self._objects[_checked(key)] = bytes(data)

    def get(self, key: str) -> bytes | None:
        with self._lock:
            return self._objects.get(_checked(key))

    def delete(self, keys: Iterable[str]) -> None:
        with self._lock:
            for key in keys:
                self._objects.pop(_checked(key), None)


class BucketObjects:
    """Objects in whatever obstore can reach."""

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket

    def put(self, key: str, data: bytes) -> None:
        with _answering():
            self._bucket.put(_checked(key), data)

    def get(self, key: str) -> bytes | None:
        with _answering():
            try:
                return bytes(self._bucket.get(_checked(key)).bytes())
            except FileNotFoundError:
                return None

    def delete(self, keys: Iterable[str]) -> None:
        for key in keys:
            with _answering():
                try:
                    self._bucket.delete(_checked(key))
                except FileNotFoundError:
                    continue


def open_objects(url: str, data: Path) -> ObjectStore:
    """The store that `url` names, or the folder `objects` in the data folder, which is made when it is missing.

    A cloud's credentials come from its own usual variables and files, which obstore reads.
    """
    from obstore.exceptions import BaseError
    from obstore.store import LocalStore, from_url

    if not url:
        folder = make_folder(data.resolve() / "objects")
        return BucketObjects(LocalStore(folder, automatic_cleanup=True))
    if not url.startswith(_SCHEMES):
        raise BadSetting(f"DRYDOCK_OBJECTS: must begin with one of {', '.join(_SCHEMES)}", where="objects")
    try:
        return BucketObjects(from_url(url))
    except (BaseError, OSError, ValueError) as wrong:
        raise CannotStart(f"The object store cannot be opened: {wrong}", hint="Look at DRYDOCK_OBJECTS.") from None


def _checked(key: str) -> str:
    # Keys are made by this program; one that is not plain is a defect that must not become a path.
    if not _KEY.fullmatch(key):
        raise ValueError(f"not an object key: {key!r}")
    return key


@contextmanager
def _answering() -> Iterator[None]:
    from obstore.exceptions import BaseError

    try:
        yield
    except FileNotFoundError:
        raise
    except (BaseError, OSError) as wrong:
        raise Unavailable(
            "The object store does not answer.", hint="Try again; the server's log has the cause."
        ) from wrong
