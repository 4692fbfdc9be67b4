"""A local cache of files that are named by their SHA-256: what a remote store is mapped from.

Processes of one machine share it. A file is downloaded by one of them while the others wait,
verified, and renamed into place. When the cache is full, the files that were not used for longest
are deleted, except those that some process has mapped: a map holds a shared lock on its file.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from covey._argument_checks import check_arguments
from covey.errors import StoreError
from covey.store.storage import array_file
from covey.store.storage.array_file import EncodedFile, MappedArrays
from covey.store.storage.backend import PARTIAL_SUFFIX, partial_name
from covey.store.storage.lock import hold_lock

__all__ = ["Cache"]

Download = Callable[[BinaryIO], None]

_DAY_S = 24 * 60 * 60


class Cache:
    """Files by their SHA-256, in a folder (by default `covey` in the user's cache folder).

    `max_bytes` bounds what is kept beyond the files in use. Wrong choice for a store on a local
    file system, which is mapped in place.
    """

    @check_arguments
    def __init__(self, folder: Path | str | None = None, *, max_bytes: int = 32 << 30) -> None:
        self.folder = Path(folder) if folder is not None else _default_folder()
        self.max_bytes = max_bytes

    def open(self, sha256: str, download: Download) -> MappedArrays:
        """The file with this SHA-256, from the cache or else by `download`, which writes it.

        What is damaged in the cache is downloaded again; what arrives damaged is a `StoreError`.
        """
        self._create_folders()
        path = self.folder / sha256
        with hold_lock(self.folder / "locks" / sha256[:2]):
            try:
                found = _map_verified(path, sha256)
            except (FileNotFoundError, StoreError):
                temporary = self.partial_path(sha256)
                try:
                    with temporary.open("xb") as file:
                        download(file)
                    found = _map_verified(temporary, sha256)
                    os.replace(temporary, path)
                finally:
                    temporary.unlink(missing_ok=True)
        self.evict()
        return found

    def put(self, encoded: EncodedFile) -> None:
        """Keeps a file that was just made, so that it need not be downloaded."""
        self._create_folders()
        temporary = self.partial_path(encoded.sha256)
        with temporary.open("xb") as file:
            file.writelines(encoded.pieces)
        os.replace(temporary, self.folder / encoded.sha256)
        self.evict()

    def put_local_file(self, path: Path, sha256: str) -> None:
        """Keeps a file that was written at `partial_path`."""
        os.replace(path, self.folder / sha256)
        self.evict()

    def partial_path(self, name: str) -> Path:
        """Where a file can be written that is to be renamed into the cache or uploaded."""
        self._create_folders()
        return self.folder / partial_name(name)

    def evict(self) -> None:
        """Deletes what was not used for longest until the rest fits, sparing what is in use."""
        files = sorted(self._list_files(), key=lambda file: file[1].st_mtime)
        excess = sum(status.st_size for _, status in files) - self.max_bytes
        for path, status in files:
            if excess <= 0:
                break
            if _delete_unless_used(path):
                excess -= status.st_size

    def _list_files(self) -> list[tuple[Path, os.stat_result]]:
        found = []
        for path in self.folder.iterdir():
            try:
                status = path.stat()
            except FileNotFoundError:  # deleted by another process meanwhile
                continue
            is_being_written = (
                path.suffix == PARTIAL_SUFFIX and status.st_mtime > time.time() - _DAY_S
            )
            if path.is_file() and not is_being_written:
                found.append((path, status))
        return found

    def _create_folders(self) -> None:
        try:
            (self.folder / "locks").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(
                f"the cache cannot be created: {error}; name a folder with Cache(folder)"
            ) from None


def _default_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "covey"


def _map_verified(path: Path, sha256: str) -> MappedArrays:
    """The file, verified; its lock and its time say that it is in use, and was used now.

    The map holds a duplicate of the descriptor, and with it the lock.
    """
    with path.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        found = array_file.read_array_file(file, sha256)
    os.utime(path)
    return found


def _delete_unless_used(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink(missing_ok=True)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True
