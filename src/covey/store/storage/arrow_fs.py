"""Storage backend for any pyarrow file system, such as HDFS.

A file is written under a temporary name and moved. A move may replace an existing file, so only one
process at a time may write. In object stores, where a move would be a copy, a file is written
directly under its name, because an object becomes visible only when it is complete. No version can
be made there: pyarrow has no conditional write, which `covey.store.storage.object_store` has.
"""

from __future__ import annotations

import mmap
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from pyarrow import fs

from covey.errors import StoreError
from covey.store.storage.backend import AlreadyExistsError, FileEntry, Pieces, partial_name

__all__ = ["ArrowBackend"]

_OBJECT_STORES = ("s3", "gcs", "abfs")


@dataclass(frozen=True, slots=True)
class ArrowBackend:
    """Storage backend under a path of a pyarrow file system; implements `StorageBackend`."""

    filesystem: Any
    root: str

    @property
    def location(self) -> str:
        return f"{self.filesystem.type_name}:{self.root}"

    @property
    def creates_atomically(self) -> bool:
        return False

    def put(self, files: Mapping[str, Pieces]) -> None:
        for name, pieces in files.items():
            try:
                self._write_whole(name, pieces)
            except OSError:  # HDFS does not move onto an existing file, even if it is equal
                if self._file_size(name) != sum(map(len, pieces)):
                    raise

    def replace(self, name: str, content: bytes) -> None:
        try:
            self._write_whole(name, [content])
        except OSError:  # HDFS does not move onto an existing file
            if self._file_size(name) is None:
                raise
            self.filesystem.delete_file(self._full_path(name))
            self._write_whole(name, [content])

    def put_if_absent(self, name: str, content: bytes) -> None:
        if self.filesystem.type_name in _OBJECT_STORES:
            raise StoreError(
                f"{self.location} cannot be changed through a pyarrow file system, because two "
                "writers could replace each other's versions: pass the URI, such as "
                "s3://bucket/alerts, without a filesystem"
            )
        try:
            if self._file_size(name) is None:
                self._write_whole(name, [content])
                return
        except OSError:  # another writer's move came first, or there is another reason
            if self._file_size(name) is None:
                raise
        raise AlreadyExistsError(name, self.location)

    def put_local_file(self, path: Path, name: str) -> None:
        with (
            path.open("rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped,
            memoryview(mapped) as content,
        ):
            self._write_whole(name, [content])

    def read(self, name: str) -> bytes:
        with self.filesystem.open_input_stream(self._full_path(name), compression=None) as stream:
            content: bytes = stream.read()
        return content

    def download(self, name: str, target: BinaryIO) -> None:
        with self.filesystem.open_input_stream(self._full_path(name), compression=None) as stream:
            shutil.copyfileobj(stream, target, 1 << 22)

    def list(self, folder: str) -> list[FileEntry]:
        selector = fs.FileSelector(self._full_path(folder), allow_not_found=True)
        return [
            FileEntry(info.base_name, info.size, (info.mtime_ns or 0) / 1e9)
            for info in self.filesystem.get_file_info(selector)
            if info.is_file
        ]

    def delete(self, name: str) -> None:
        if self._file_size(name) is not None:
            self.filesystem.delete_file(self._full_path(name))

    def local_path(self, name: str) -> None:
        return None

    def _full_path(self, name: str) -> str:
        """Return the path of a file in the file system."""
        return f"{self.root}/{name}"

    def _file_size(self, name: str) -> int | None:
        """Return the size of a file in bytes, or None if it does not exist."""
        info = self.filesystem.get_file_info(self._full_path(name))
        return info.size if info.is_file else None

    def _write_whole(self, name: str, pieces: Pieces) -> None:
        """Write a file under a temporary name and move it; in object stores, write it directly."""
        if self.filesystem.type_name in _OBJECT_STORES:
            self._write_stream(self._full_path(name), pieces)
            return
        self.filesystem.create_dir(self._full_path(name).rpartition("/")[0], recursive=True)
        temporary = self._full_path(partial_name(name))
        self._write_stream(temporary, pieces)
        try:
            self.filesystem.move(temporary, self._full_path(name))
        except OSError:
            self.filesystem.delete_file(temporary)
            raise

    def _write_stream(self, path: str, pieces: Pieces) -> None:
        """Write the pieces of a file to a path."""
        with self.filesystem.open_output_stream(path, compression=None) as stream:
            for piece in pieces:
                stream.write(piece)
