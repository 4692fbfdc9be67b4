"""Storage backend for local file systems; files are made durable with fsync.

A file is written under a temporary name, synced, and renamed; then its folder is synced. So after a
power failure a file is either complete or does not exist.

Cost: some milliseconds for each synced file and folder, and the time to write the content to disk.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from covey.errors import StoreError
from covey.store.storage.backend import FileEntry, Pieces, partial_name

__all__ = ["LocalBackend"]

_NO_LINK_ERRNOS = (errno.EPERM, errno.ENOTSUP, errno.EMLINK, errno.ENOSYS)


@dataclass(frozen=True, slots=True)
class LocalBackend:
    """Storage backend under a local path; implements `StorageBackend`."""

    root: Path

    @property
    def location(self) -> str:
        return str(self.root)

    def put(self, files: Mapping[str, Pieces]) -> None:
        for name, pieces in files.items():
            os.replace(self._write_partial(name, pieces), self.local_path(name))
        for folder in {self.local_path(name).parent for name in files}:
            _sync_to_disk(folder)

    def replace(self, name: str, content: bytes) -> None:
        self.put({name: [content]})

    def put_if_absent(self, name: str, content: bytes) -> None:
        path = self.local_path(name)
        temporary = self._write_partial(name, [content])
        try:
            _rename_without_replacing(temporary, path)
        except FileExistsError:
            raise StoreError(
                f"{path} exists already: check that no other process is writing"
            ) from None
        finally:
            temporary.unlink(missing_ok=True)
        _sync_to_disk(path.parent)

    def put_local_file(self, path: Path, name: str) -> None:
        _sync_to_disk(path)
        os.replace(path, self.local_path(name))
        _sync_to_disk(self.local_path(name).parent)

    def read(self, name: str) -> bytes:
        return self.local_path(name).read_bytes()

    def download(self, name: str, target: BinaryIO) -> None:
        with self.local_path(name).open("rb") as file:
            shutil.copyfileobj(file, target)

    def list(self, folder: str) -> list[FileEntry]:
        entries = []
        try:
            with os.scandir(self.root / folder) as files:
                for file in files:
                    status = file.stat()
                    entries.append(FileEntry(file.name, status.st_size, status.st_mtime))
        except FileNotFoundError:  # the folder does not exist, or a file was deleted meanwhile
            return self.list(folder) if (self.root / folder).exists() else []
        except NotADirectoryError:
            raise StoreError(
                f"{self.root / folder} is not a folder: this path, or a path above it, is a file; "
                "choose another location"
            ) from None
        return entries

    def delete(self, name: str) -> None:
        self.local_path(name).unlink(missing_ok=True)

    def local_path(self, name: str) -> Path:
        return self.root / name

    def _write_partial(self, name: str, pieces: Pieces) -> Path:
        """Write a file durably under a temporary name, and return its path."""
        path = self.local_path(partial_name(name))
        _create_folder(path.parent)
        try:
            with path.open("xb") as file:
                file.writelines(pieces)
                file.flush()
                os.fsync(file.fileno())
        except BaseException:  # most often the disk is full: do not leave a partial file
            path.unlink(missing_ok=True)
            raise
        return path


def _rename_without_replacing(old: Path, new: Path) -> None:
    """Rename a file in one step; raise FileExistsError if the new name is in use."""
    try:
        os.link(old, new)
    except OSError as error:
        if error.errno not in _NO_LINK_ERRNOS:
            raise
        if new.exists():
            raise FileExistsError(new) from None
        os.rename(old, new)


def _create_folder(folder: Path) -> None:
    """Create a folder and its parents durably."""
    if not folder.exists():
        _create_folder(folder.parent)
        folder.mkdir(exist_ok=True)
        _sync_to_disk(folder.parent)


def _sync_to_disk(path: Path) -> None:
    """Wait until the content of a file, or the names in a folder, are on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
