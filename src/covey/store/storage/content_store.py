"""The files of a store that are named by their SHA-256: segments and tombstones.

Written once, never changed, opened by memory map: in place on a local file system, otherwise from
the cache.
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
    """The content-addressed files of one store."""

    backend: StorageBackend
    cache: Cache

    def put(self, *encoded_files: EncodedFile) -> None:
        """Writes files; when it returns they are durable, though no version names them yet."""
        self.backend.put({_file_name(file.sha256): file.pieces for file in encoded_files})
        if not self._is_local:
            for file in encoded_files:
                self.cache.put(file)

    def put_local_file(self, path: Path, sha256: str) -> None:
        """Like `put`, of a file that was written at `partial_path` and is gone from there then."""
        self.backend.put_local_file(path, _file_name(sha256))
        if not self._is_local:
            self.cache.put_local_file(path, sha256)

    def partial_path(self, name: str) -> Path:
        """A local path at which a file can be written that `put_local_file` is to take."""
        local = self.backend.local_path(f"{FILES_FOLDER}/{partial_name(name)}")
        return local if local is not None else self.cache.partial_path(name)

    def open(self, sha256: str) -> MappedArrays:
        """A file of which every byte was verified; damaged or gone is a `StoreError`."""
        if self._is_local:
            return array_file.open_array_file(self.local_path(sha256), sha256)
        return self.cache.open(sha256, lambda into: self._download(sha256, into))

    def delete(self, sha256: str) -> None:
        """Deletes a file that no version names."""
        self.backend.delete(_file_name(sha256))

    def local_path(self, sha256: str) -> Path:
        """Where a file that is open here can be opened by another process of this machine."""
        return self.backend.local_path(_file_name(sha256)) or self.cache.folder / sha256

    @property
    def _is_local(self) -> bool:
        return self.backend.local_path(FILES_FOLDER) is not None

    def _download(self, sha256: str, target: BinaryIO) -> None:
        try:
            self.backend.download(_file_name(sha256), target)
        except FileNotFoundError:
            raise StoreError(
                f"{_file_name(sha256)} is gone from {self.backend.location}: it was deleted, or "
                "vacuum deleted the version that names it"
            ) from None


def _file_name(sha256: str) -> str:
    return f"{FILES_FOLDER}/{sha256}"
