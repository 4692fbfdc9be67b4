"""File locks between processes; a lock is released at the latest when its process ends."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from covey.errors import StoreError

__all__ = ["WriterLock", "hold_lock"]


class WriterLock:
    """Lock of the only writer of a local store, held until `release` or the end of the process.

    If a lock on the same path is held already, in this process or another, the constructor raises a
    StoreError with the number of the process that holds it. On a network file system the lock is as
    reliable as the `flock` of this file system.
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
                f"another writer has {path.parent} open (process {holder}): only one process may "
                "write there at a time; end the other one first"
            ) from None
        self._file.truncate(0)
        self._file.write(str(os.getpid()))
        self._file.flush()

    def release(self) -> None:
        """Release the lock."""
        self._file.close()


@contextmanager
def hold_lock(path: Path) -> Iterator[None]:
    """Wait for the lock on a file, and hold the lock until the context ends.

    The file is created if it does not exist.
    """
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
