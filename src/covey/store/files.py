"""The files of a store that are named by their SHA-256: segments and tombstones.

Written once, never changed, opened by memory map: in place on a local file system, otherwise from
the cache.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from covey.errors import StoreError
from covey.store import arrays
from covey.store.arrays import Arrays, Packed
from covey.store.cache import Cache
from covey.store.directory import Directory, partial

__all__ = ["FOLDER", "Files"]

FOLDER = "files"


@dataclass(frozen=True, slots=True)
class Files:
    """The content-addressed files of one store."""

    directory: Directory
    cache: Cache

    def put(self, *files: Packed) -> None:
        """Writes files; when it returns they are durable, though no version names them yet."""
        self.directory.put({_name(file.sha256): file.pieces for file in files})
        if not self._is_local:
            for file in files:
                self.cache.add(file)

    def adopt(self, path: Path, sha256: str) -> None:
        """Like `put`, of a file that was written at `partial_path` and is gone from there then."""
        self.directory.adopt(path, _name(sha256))
        if not self._is_local:
            self.cache.adopt(path, sha256)

    def partial_path(self, name: str) -> Path:
        """A local path at which a file can be written that `adopt` is to take."""
        local = self.directory.local_path(f"{FOLDER}/{partial(name)}")
        return local if local is not None else self.cache.partial_path(name)

    def open(self, sha256: str) -> Arrays:
        """A file of which every byte was verified; damaged or gone is a `StoreError`."""
        if self._is_local:
            return arrays.read_path(self.path(sha256), sha256)
        return self.cache.open(sha256, lambda into: self._download(sha256, into))

    def delete(self, sha256: str) -> None:
        """Deletes a file that no version names."""
        self.directory.delete(_name(sha256))

    def path(self, sha256: str) -> Path:
        """Where a file that is open here can be opened by another process of this machine."""
        return self.directory.local_path(_name(sha256)) or self.cache.folder / sha256

    @property
    def _is_local(self) -> bool:
        return self.directory.local_path(FOLDER) is not None

    def _download(self, sha256: str, into: BinaryIO) -> None:
        try:
            self.directory.download(_name(sha256), into)
        except FileNotFoundError:
            raise StoreError(
                f"{_name(sha256)} is gone from {self.directory.place}: it was deleted, or the "
                "version that names it was collected"
            ) from None


def _name(sha256: str) -> str:
    return f"{FOLDER}/{sha256}"
