"""Content store: the files of a store that are named by their SHA-256.

These files are segments, tombstones and zone maps. They are written once, never changed, and opened
by memory map: in place if the file system is local, otherwise from the cache.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from covey.errors import StoreError
from covey.store.storage import array_file
from covey.store.storage.array_file import EncodedFile, MappedArrays
from covey.store.storage.backend import StorageBackend, partial_name
from covey.store.storage.cache import Cache

__all__ = ["FILES_FOLDER", "ContentStore"]

FILES_FOLDER = "files"


@dataclass(frozen=True, slots=True)
class ContentStore:
    """Content-addressed files of one store; if its file system is remote, `cache` has copies."""

    backend: StorageBackend
    cache: Cache

    def put(self, *encoded_files: EncodedFile) -> None:
        """Write files durably, and add them to the cache if the file system is remote."""
        self.backend.put({_file_name(file.sha256): file.pieces for file in encoded_files})
        if not self._is_local:
            for file in encoded_files:
                self.cache.put(file)

    def put_local_file(self, path: Path, sha256: str) -> None:
        """Add a file durably by moving it; it must have been written at a `partial_path`."""
        self.backend.put_local_file(path, _file_name(sha256))
        if not self._is_local:
            self.cache.put_local_file(path, sha256)

    def partial_path(self, name: str) -> Path:
        """Return a local path at which a file can be written for `put_local_file`."""
        local = self.backend.local_path(f"{FILES_FOLDER}/{partial_name(name)}")
        return local if local is not None else self.cache.partial_path(name)

    def open(self, sha256: str) -> MappedArrays:
        """Open a file and verify every byte; raise StoreError if it is damaged or missing."""
        if self._is_local:
            return array_file.open_array_file(self.local_path(sha256), sha256)
        return self.cache.open(sha256, lambda into: self._download(sha256, into))

    def delete(self, sha256: str) -> None:
        """Delete a file that no version names."""
        self.backend.delete(_file_name(sha256))

    def local_path(self, sha256: str) -> Path:
        """Return the local path of a file, so that another process of this machine can map it.

        If the file system is remote, the file must be open, so that it stays in the cache.
        """
        return self.backend.local_path(_file_name(sha256)) or self.cache.folder / sha256

    @property
    def _is_local(self) -> bool:
        """Whether the backend is a local file system."""
        return self.backend.local_path(FILES_FOLDER) is not None

    def _download(self, sha256: str, target: BinaryIO) -> None:
        """Copy a file of the backend to `target`; raise StoreError if it does not exist."""
        try:
            self.backend.download(_file_name(sha256), target)
        except FileNotFoundError:
            raise StoreError(
                f"{_file_name(sha256)} does not exist in {self.backend.location}: it was deleted, "
                "or vacuum deleted the version that names it; open the newest version, or restore "
                "the file from a copy"
            ) from None


def _file_name(sha256: str) -> str:
    """Return the name of a content-addressed file in the backend."""
    return f"{FILES_FOLDER}/{sha256}"
