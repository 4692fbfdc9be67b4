"""Locks between processes, on files: they end with the process that holds them, however it ends."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from covey.errors import StoreError

__all__ = ["WriterLock", "hold_lock"]


class WriterLock:
    """The right to write to a local store, from now until `release` or the end of the process.

    A second one, in this process or another, is refused with a `StoreError` that names the holder.
    Local file systems only; on a network file system it holds as far as that keeps `flock`.
    """

    def __init__(self, path: Path) -> None:
        self._file = path.open("a+")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.seek(0)
            holder = self._file.read().strip() or "unknown"
            self._file.close()
            raise StoreError(
                f"another writer has {path.parent} open (process {holder}): a store has one writer "
                "at a time; close that one first"
            ) from None
        self._file.truncate(0)
        self._file.write(str(os.getpid()))
        self._file.flush()

    def release(self) -> None:
        self._file.close()


@contextmanager
def hold_lock(path: Path) -> Iterator[None]:
    """Waits for the lock on a file, which is created if need be, and holds it."""
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
