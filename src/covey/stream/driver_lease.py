"""Access of one driver to the state folder of a stream: a lock, or a lease.

A local folder has a lock of the operating system. Other folders have a lease. Each driver takes the
next number, its epoch, by a conditional write, and renews its lease every few seconds. A second
driver is refused as long as the lease is renewed. If it is not renewed for 30 seconds, a new driver
takes the next epoch. A driver that was only frozen finds the higher epoch before its next write to
the state, and ends.
"""

from __future__ import annotations

import json
import logging
import os
import secrets
import socket
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from covey.errors import CoveyError, StreamError
from covey.store.storage import (
    AlreadyExistsError,
    FileEntry,
    Pieces,
    StorageBackend,
    WriterLock,
    open_storage,
)

__all__ = ["DriverLease", "FencedBackend", "StateFolder"]

_log = logging.getLogger(__name__)

_FOLDER = "drivers"
_OWNER, _RENEWAL, _END = "json", "renewed", "ended"
"""Suffixes of the files of an epoch: its process, its last renewal, and its end."""
_LEASE_S = 30.0
_RENEWAL_S = 5.0
_UNCONFIRMED_S = 10.0  # a write needs a renewal that is not older
_POLL_S = 1.0


class DriverLease:
    """Lease of a stream's state folder, renewed by a thread until `release`.

    Args:
        backend: the storage backend of the state folder.

    Raises:
        StreamError: another driver has the lease.
        OSError: the state folder cannot be accessed.
    """

    def __init__(self, backend: StorageBackend) -> None:
        self._backend = backend
        self._owner = f"process {os.getpid()} on {socket.gethostname()}"
        self._successor: str | None = None
        last_epoch = self._find_last_epoch()
        if last_epoch:
            self._await_end(last_epoch)
        self.epoch = last_epoch + 1
        """Number of this driver; those before it have lower ones."""
        try:
            content = json.dumps({"owner": self._owner}).encode()
            backend.put_if_absent(_file_name(self.epoch, _OWNER), content)
        except AlreadyExistsError:
            raise self._refuse(self.epoch) from None
        self._lock = threading.Lock()
        self._confirmed_s = float("-inf")
        self._renew()
        self._delete_before(last_epoch)
        self._released = threading.Event()
        threading.Thread(target=self._keep_renewing, name="covey-lease", daemon=True).start()

    @property
    def is_lost(self) -> bool:
        """Whether another driver has taken the next epoch."""
        return self._successor is not None

    def confirm(self) -> None:
        """Make sure that no other driver has taken over; call this method before each write.

        Raises:
            StreamError: another driver has taken over.
            OSError: the lease cannot be renewed.
        """
        with self._lock:
            if not self.is_lost and time.monotonic() - self._confirmed_s > _UNCONFIRMED_S:
                self._renew()
        if self.is_lost:
            raise StreamError(
                f"{self._successor} has taken over the stream in {self._backend.location}, because "
                f"this process did not renew its lease for {_LEASE_S:.0f} seconds; it ends now"
            )

    def release(self) -> None:
        """Let another driver start at once."""
        self._released.set()
        with self._lock:
            if not self.is_lost:
                self._backend.replace(_file_name(self.epoch, _END), b"")

    def _keep_renewing(self) -> None:
        while not self._released.wait(_RENEWAL_S) and not self.is_lost:
            try:
                with self._lock:
                    if not self._released.is_set():
                        self._renew()
            except (CoveyError, OSError) as error:
                _log.warning("the lease could not be renewed", extra={"error": str(error)})
        if self.is_lost:
            _log.error("another driver has taken over", extra={"successor": self._successor})

    def _renew(self) -> None:
        """Renew the lease, or note that it is lost."""
        began_s = time.monotonic()
        last_epoch = self._find_last_epoch()
        if last_epoch > self.epoch:
            self._successor = self._read_owner(last_epoch)
            return
        self._backend.replace(_file_name(self.epoch, _RENEWAL), secrets.token_bytes(8))
        self._confirmed_s = began_s

    def _await_end(self, epoch: int) -> None:
        """Wait until an epoch has ended, or was not renewed for the time of a lease.

        Raises:
            StreamError: its driver renews the lease.
        """
        if self._has_ended(epoch):
            return
        renewal, until = self._read(epoch, _RENEWAL), time.monotonic() + _LEASE_S
        _log.info(
            "waiting for the end of another driver's lease",
            extra={"owner": self._read_owner(epoch), "at_most_s": _LEASE_S},
        )
        while time.monotonic() < until:
            time.sleep(_POLL_S)
            if self._has_ended(epoch):
                return
            if self._read(epoch, _RENEWAL) != renewal or self._find_last_epoch() != epoch:
                raise self._refuse(self._find_last_epoch())

    def _refuse(self, epoch: int) -> StreamError:
        """Return the error of a second driver."""
        return StreamError(
            f"{self._read_owner(epoch)} runs the stream in {self._backend.location} already: end "
            "that process first, or use another state folder ([state] path)"
        )

    def _delete_before(self, epoch: int) -> None:
        """Delete the files of all drivers before an epoch."""
        for entry in self._backend.list(_FOLDER):
            if entry.name[:12].isdigit() and int(entry.name[:12]) < epoch:
                self._backend.delete(f"{_FOLDER}/{entry.name}")

    def _find_last_epoch(self) -> int:
        """Return the epoch of the newest driver, or 0 if there was none."""
        names = (entry.name.partition(".") for entry in self._backend.list(_FOLDER))
        return max((int(epoch) for epoch, _, kind in names if kind == _OWNER), default=0)

    def _has_ended(self, epoch: int) -> bool:
        name = _file_name(epoch, _END).rpartition("/")[2]
        return any(entry.name == name for entry in self._backend.list(_FOLDER))

    def _read_owner(self, epoch: int) -> str:
        try:
            return str(json.loads(self._read(epoch, _OWNER))["owner"])
        except (ValueError, KeyError):
            return "another process"

    def _read(self, epoch: int, kind: str) -> bytes:
        """Return the content of a file of an epoch; empty if there is none."""
        try:
            return self._backend.read(_file_name(epoch, kind))
        except FileNotFoundError:
            return b""


def _file_name(epoch: int, kind: str) -> str:
    """Return the name of a file of an epoch, such as `drivers/000000000007.json`."""
    return f"{_FOLDER}/{epoch:012d}.{kind}"


@dataclass(frozen=True, slots=True)
class FencedBackend:
    """Storage backend that writes only as long as a driver has its lease.

    Args:
        backend: the storage backend of a folder of the state.
        lease: the lease of the driver.
    """

    backend: StorageBackend
    lease: DriverLease

    @property
    def location(self) -> str:
        return self.backend.location

    @property
    def creates_atomically(self) -> bool:
        return self.backend.creates_atomically

    def put(self, files: Mapping[str, Pieces]) -> None:
        self.lease.confirm()
        self.backend.put(files)

    def replace(self, name: str, content: bytes) -> None:
        self.lease.confirm()
        self.backend.replace(name, content)

    def put_if_absent(self, name: str, content: bytes) -> None:
        self.lease.confirm()
        self.backend.put_if_absent(name, content)

    def put_local_file(self, path: Path, name: str) -> None:
        self.lease.confirm()
        self.backend.put_local_file(path, name)

    def read(self, name: str) -> bytes:
        return self.backend.read(name)

    def download(self, name: str, target: BinaryIO) -> None:
        self.backend.download(name, target)

    def list(self, folder: str) -> list[FileEntry]:
        return self.backend.list(folder)

    def delete(self, name: str) -> None:
        self.lease.confirm()
        self.backend.delete(name)

    def local_path(self, name: str) -> Path | None:
        return self.backend.local_path(name)


@dataclass(frozen=True, slots=True)
class StateFolder:
    """State folder of a stream that only this driver writes.

    Args:
        path: path or URI of the folder.
        lock: what excludes other drivers.
    """

    path: str
    lock: WriterLock | DriverLease

    @classmethod
    def acquire(cls, path: str) -> StateFolder:
        """Return the state folder at a path; a local one is created if it does not exist.

        Raises:
            StoreError: another driver has the lock of the folder.
            StreamError: another driver has the lease of the folder.
        """
        backend = open_storage(path)
        lock_path = backend.local_path("stream.lock")
        if lock_path is None or not backend.creates_atomically:
            return cls(path, DriverLease(backend))
        lock_path.parent.mkdir(parents=True, exist_ok=True)
        return cls(path, WriterLock(lock_path))

    @property
    def is_lost(self) -> bool:
        """Whether another driver has taken over."""
        return isinstance(self.lock, DriverLease) and self.lock.is_lost

    def confirm(self) -> None:
        """Raise StreamError if another driver has taken over."""
        self.lock.confirm()

    def open(self, folder: str = "") -> StorageBackend:
        """Return the storage backend of a folder; after the loss of the lease it cannot write."""
        backend = open_storage(f"{self.path}/{folder}" if folder else self.path)
        return FencedBackend(backend, self.lock) if isinstance(self.lock, DriverLease) else backend

    def release(self) -> None:
        """Let another driver start."""
        self.lock.release()
