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

from covey.errors import StoreError
from covey.store import arrays
from covey.store.arrays import Arrays, Packed
from covey.store.directory import PARTIAL, partial
from covey.store.lock import locked

__all__ = ["Cache"]

Download = Callable[[BinaryIO], None]

_DAY = 24 * 60 * 60


class Cache:
    """Files by their SHA-256, in a folder (by default `covey` in the user's cache folder).

    `max_bytes` bounds what is kept beyond the files in use. Wrong choice for a store on a local
    file system, which is mapped in place.
    """

    def __init__(self, folder: Path | str | None = None, max_bytes: int = 32 << 30) -> None:
        self.folder = Path(folder) if folder is not None else _default_folder()
        self.max_bytes = max_bytes

    def open(self, sha256: str, download: Download) -> Arrays:
        """The file with this SHA-256, from the cache or else by `download`, which writes it.

        What is damaged in the cache is downloaded again; what arrives damaged is a `StoreError`.
        """
        self._prepare()
        path = self.folder / sha256
        with locked(self.folder / "locks" / sha256[:2]):
            try:
                found = _mapped(path, sha256)
            except (FileNotFoundError, StoreError):
                temporary = self.partial_path(sha256)
                try:
                    with temporary.open("xb") as file:
                        download(file)
                    found = _mapped(temporary, sha256)
                    os.replace(temporary, path)
                finally:
                    temporary.unlink(missing_ok=True)
        self.trim()
        return found

    def add(self, packed: Packed) -> None:
        """Keeps a file that was just made, so that it need not be downloaded."""
        self._prepare()
        temporary = self.partial_path(packed.sha256)
        with temporary.open("xb") as file:
            file.writelines(packed.pieces)
        os.replace(temporary, self.folder / packed.sha256)
        self.trim()

    def adopt(self, path: Path, sha256: str) -> None:
        """Keeps a file that was written at `partial_path`."""
        os.replace(path, self.folder / sha256)
        self.trim()

    def partial_path(self, name: str) -> Path:
        """Where a file can be written that is to be renamed into the cache or uploaded."""
        self._prepare()
        return self.folder / partial(name)

    def trim(self) -> None:
        """Deletes what was not used for longest until the rest fits, sparing what is in use."""
        files = sorted(self._files(), key=lambda file: file[1].st_mtime)
        excess = sum(status.st_size for _, status in files) - self.max_bytes
        for path, status in files:
            if excess <= 0:
                break
            if _delete_unless_used(path):
                excess -= status.st_size

    def _files(self) -> list[tuple[Path, os.stat_result]]:
        found = []
        for path in self.folder.iterdir():
            try:
                status = path.stat()
            except FileNotFoundError:  # deleted by another process meanwhile
                continue
            is_being_written = path.suffix == PARTIAL and status.st_mtime > time.time() - _DAY
            if path.is_file() and not is_being_written:
                found.append((path, status))
        return found

    def _prepare(self) -> None:
        try:
            (self.folder / "locks").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(
                f"the cache cannot be created: {error}; name a folder with Cache(folder)"
            ) from None


def _default_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "covey"


def _mapped(path: Path, sha256: str) -> Arrays:
    """The file, verified; its lock and its time say that it is in use, and was used now.

    The map holds a duplicate of the descriptor, and with it the lock.
    """
    with path.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        found = arrays.read(file, sha256)
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
