"""Local cache of the files of remote stores, named by their SHA-256.

All processes of a machine can share a cache. If several processes need a file, one downloads it
while the other ones wait; the file is then verified and renamed into place. When the cache is full,
the least recently used files are deleted, except for files that a process has mapped: a map holds a
shared lock on its file.
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
    """Local cache of remote files, in a folder.

    A store on a local file system uses no cache, because its files are mapped in place.

    Args:
        folder: folder of the cache; None for `covey` in the user's cache folder.
        max_bytes: size up to which the cache grows; beyond this size, files that no process uses
            are deleted.
    """

    @check_arguments
    def __init__(self, folder: Path | str | None = None, *, max_bytes: int = 32 << 30) -> None:
        self.folder = Path(folder) if folder is not None else _default_folder()
        self.max_bytes = max_bytes

    def open(self, sha256: str, download: Download) -> MappedArrays:
        """Open the file with this SHA-256; if the cache lacks it, call `download` first.

        `download` writes the content of the file to its argument. A damaged file in the cache is
        downloaded again.

        Raises:
            StoreError: if the downloaded file is damaged, or the folder cannot be created.
        """
        self._create_folders()
        path = self.folder / sha256
        with hold_lock(self.folder / "locks" / sha256[:2]):
            try:
                arrays = _map_verified(path, sha256)
            except (FileNotFoundError, StoreError):
                temporary = self.partial_path(sha256)
                try:
                    with temporary.open("xb") as file:
                        download(file)
                    arrays = _map_verified(temporary, sha256)
                    os.replace(temporary, path)
                finally:
                    temporary.unlink(missing_ok=True)
        self.evict()
        return arrays

    def put(self, encoded: EncodedFile) -> None:
        """Add a file that was just encoded, so that it need not be downloaded."""
        self._create_folders()
        temporary = self.partial_path(encoded.sha256)
        with temporary.open("xb") as file:
            file.writelines(encoded.pieces)
        os.replace(temporary, self.folder / encoded.sha256)
        self.evict()

    def put_local_file(self, path: Path, sha256: str) -> None:
        """Add a file by renaming it; it must have been written at a path from `partial_path`."""
        os.replace(path, self.folder / sha256)
        self.evict()

    def partial_path(self, name: str) -> Path:
        """Return a path at which a file can be written before it is added or uploaded."""
        self._create_folders()
        return self.folder / partial_name(name)

    def evict(self) -> None:
        """Delete the least recently used files until the cache has at most `max_bytes`.

        Files that a process has mapped are not deleted, so the cache may stay larger.
        """
        files = sorted(self._list_files(), key=lambda file: file[1].st_mtime)
        excess = sum(status.st_size for _, status in files) - self.max_bytes
        for path, status in files:
            if excess <= 0:
                break
            if _delete_unless_used(path):
                excess -= status.st_size

    def _list_files(self) -> list[tuple[Path, os.stat_result]]:
        """Return the files of the cache, without partial files that are less than a day old.

        Such a file may be a download that has not ended; an older one was left by a killed process.
        """
        files = []
        for path in self.folder.iterdir():
            try:
                status = path.stat()
            except FileNotFoundError:  # another process deleted it meanwhile
                continue
            is_being_written = (
                path.suffix == PARTIAL_SUFFIX and status.st_mtime > time.time() - _DAY_S
            )
            if path.is_file() and not is_being_written:
                files.append((path, status))
        return files

    def _create_folders(self) -> None:
        """Create the folders of the cache; raise StoreError if they cannot be created."""
        try:
            (self.folder / "locks").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(
                f"the cache cannot be created: {error}; set XDG_CACHE_HOME to a writable folder, "
                "or call Store.open with cache=Cache(folder)"
            ) from None


def _default_folder() -> Path:
    """Return the folder `covey` in the user's cache folder."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "covey"


def _map_verified(path: Path, sha256: str) -> MappedArrays:
    """Map and verify a file, take a shared lock on it, and set its time of last use to now.

    The lock is held for as long as the map exists, because the map has a duplicate of the file
    descriptor.
    """
    with path.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        arrays = array_file.read_array_file(file, sha256)
    os.utime(path)
    return arrays


def _delete_unless_used(path: Path) -> bool:
    """Delete a file unless a process has it mapped; return whether the file is deleted."""
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink(missing_ok=True)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True
