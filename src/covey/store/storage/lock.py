"""Locks between processes: the lock of a store's only writer, and locks of cache entries.

On a local file system the operating system releases a lock at the latest when its process ends. On
other file systems a writer has a lease, a file that it renews; after the end of the lease another
writer may take it.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from covey.errors import StoreError
from covey.store.storage.backend import StorageBackend

__all__ = ["WriterLease", "WriterLock", "hold_lock", "lock_writer"]

_LEASE_FILE = "writer.lease"
_LEASE_S = 60.0
_SETTLING_S = 1.0  # time in which a process that takes a lease at the same moment writes its file


class WriterLock:
    """Lock of the only writer of a local store, held until `release` or the end of the process.

    On a network file system the lock is as reliable as the `flock` of this file system.

    Args:
        path: file of the lock; it is created if it does not exist.

    Raises:
        StoreError: the lock is held already, in this process or another, whose number the message
            contains; or the file system cannot lock files.
    """

    def __init__(self, path: Path) -> None:
        self._file = path.open("a+")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._file.seek(0)
            holder = self._file.read().strip() or "unknown"
            self._file.close()
            raise StoreError(
                f"another writer has {path.parent} open (process {holder}): only one process may "
                "write there at a time; end the other one first"
            ) from None
        except OSError as error:
            self._file.close()
            raise StoreError(
                f"{path} cannot be locked ({error.strerror}): put the store on a file system with "
                "locks, or in an object store, such as s3://bucket/alerts"
            ) from None
        self._file.truncate(0)
        self._file.write(str(os.getpid()))
        self._file.flush()

    def confirm(self) -> None:
        """Do nothing: the operating system takes no lock away."""

    def release(self) -> None:
        """Release the lock."""
        self._file.close()


class WriterLease:
    """Lease of the only writer on a file system that has no locks and no conditional writes.

    Two writers that take the lease within the same second both read it again after that second, and
    only the one that wrote last has it. A writer that is stopped for longer than the lease, between
    `confirm` and its next write, can still write beside a new one. So the user should not run
    several writers; the lease notices when it happens.

    Args:
        backend: the storage backend of the store.

    Raises:
        StoreError: another writer has the lease.
    """

    def __init__(self, backend: StorageBackend) -> None:
        self._backend = backend
        self._owner = f"process {os.getpid()} on {socket.gethostname()}, {secrets.token_hex(8)}"
        self._end_s = 0.0
        self.confirm()

    def confirm(self) -> None:
        """Take or renew the lease if necessary; call this method before each write.

        Raises:
            StoreError: another writer has the lease.
        """
        if time.time() < self._end_s - _LEASE_S / 2:
            return
        saved = self._read()
        is_mine = saved["owner"] == self._owner
        if not is_mine and time.time() < saved["end_s"]:
            raise StoreError(
                f"another writer has {self._backend.location} open ({saved['owner']}): only one "
                "process may write there at a time. End the other one first; if it was killed, "
                f"wait {saved['end_s'] - time.time():.0f} seconds, until its lease ends"
            )
        end_s = time.time() + _LEASE_S
        content = json.dumps({"owner": self._owner, "end_s": end_s}).encode()
        self._backend.replace(_LEASE_FILE, content)
        if not is_mine or saved["end_s"] < time.time():
            time.sleep(_SETTLING_S)
            if self._read()["owner"] != self._owner:
                raise StoreError(
                    f"another writer has opened {self._backend.location} at the same moment: only "
                    "one process may write there at a time"
                )
        self._end_s = end_s

    def release(self) -> None:
        """End the lease."""
        if self._read()["owner"] == self._owner:
            self._backend.delete(_LEASE_FILE)

    def _read(self) -> dict[str, Any]:
        """Return the owner and the end of the current lease; no owner if there is none."""
        try:
            saved: dict[str, Any] = json.loads(self._backend.read(_LEASE_FILE))
        except (FileNotFoundError, ValueError):  # a file that is being written may be empty
            return {"owner": "", "end_s": 0.0}
        return saved


def lock_writer(backend: StorageBackend) -> WriterLock | WriterLease | None:
    """Take the lock of a store's only writer; None if the store may have several writers."""
    path = backend.local_path("writer.lock")
    if not backend.creates_atomically:
        return WriterLease(backend)
    return None if path is None else WriterLock(path)


@contextmanager
def hold_lock(path: Path) -> Iterator[None]:
    """Wait for the lock on a file, and hold the lock until the context ends.

    The file is created if it does not exist.
    """
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
