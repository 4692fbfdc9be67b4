"""A store's files on any pyarrow file system: HDFS, S3, and what else pyarrow reaches.

A file is written under another name and moved. In object stores, where a move is a copy, it is put
under its name at once: there, an object is seen when all of it has arrived and not before. Nothing
holds off a second writer but that a version's name is looked up before it is used: see to it that
there is one.
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
from covey.store.directory import Listed, Pieces, partial

__all__ = ["RemoteDirectory"]

_OBJECT_STORES = ("s3", "gcs", "abfs")


@dataclass(frozen=True, slots=True)
class RemoteDirectory:
    """A `Directory` under a path of a pyarrow file system."""

    filesystem: Any
    root: str

    @property
    def place(self) -> str:
        return f"{self.filesystem.type_name}:{self.root}"

    def put(self, files: Mapping[str, Pieces]) -> None:
        for name, pieces in files.items():
            try:
                self._create(name, pieces)
            except OSError:  # HDFS does not move onto a file: then one of this content is there
                if self._size(name) != sum(map(len, pieces)):
                    raise

    def replace(self, name: str, content: bytes) -> None:
        try:
            self._create(name, [content])
        except OSError:  # HDFS does not move onto a file
            if self._size(name) is None:
                raise
            self.filesystem.delete_file(self._path(name))
            self._create(name, [content])

    def publish(self, name: str, content: bytes) -> None:
        try:
            if self._size(name) is None:
                self._create(name, [content])
                return
        except OSError:  # the move came second, or there is another reason
            if self._size(name) is None:
                raise
        raise StoreError(f"{name} exists already in {self.place}: is another process writing?")

    def adopt(self, path: Path, name: str) -> None:
        with (
            path.open("rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped,
            memoryview(mapped) as content,
        ):
            self._create(name, [content])

    def read(self, name: str) -> bytes:
        with self.filesystem.open_input_stream(self._path(name), compression=None) as stream:
            content: bytes = stream.read()
        return content

    def download(self, name: str, into: BinaryIO) -> None:
        with self.filesystem.open_input_stream(self._path(name), compression=None) as stream:
            shutil.copyfileobj(stream, into, 1 << 22)

    def list(self, folder: str) -> list[Listed]:
        selector = fs.FileSelector(self._path(folder), allow_not_found=True)
        return [
            Listed(info.base_name, info.size, (info.mtime_ns or 0) / 1e9)
            for info in self.filesystem.get_file_info(selector)
            if info.is_file
        ]

    def delete(self, name: str) -> None:
        if self._size(name) is not None:
            self.filesystem.delete_file(self._path(name))

    def local_path(self, name: str) -> None:
        return None

    def _path(self, name: str) -> str:
        return f"{self.root}/{name}"

    def _size(self, name: str) -> int | None:
        info = self.filesystem.get_file_info(self._path(name))
        return info.size if info.is_file else None

    def _create(self, name: str, pieces: Pieces) -> None:
        if self.filesystem.type_name in _OBJECT_STORES:
            self._write(self._path(name), pieces)
            return
        self.filesystem.create_dir(self._path(name).rpartition("/")[0], recursive=True)
        temporary = self._path(partial(name))
        self._write(temporary, pieces)
        try:
            self.filesystem.move(temporary, self._path(name))
        except OSError:
            self.filesystem.delete_file(temporary)
            raise

    def _write(self, path: str, pieces: Pieces) -> None:
        with self.filesystem.open_output_stream(path, compression=None) as stream:
            for piece in pieces:
                stream.write(piece)
