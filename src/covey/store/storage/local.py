"""Storage backend for local file systems; files are made durable with fsync.

A file is written under a temporary name, synced, and renamed; then its folder is synced. So after a
power failure a file is either complete or does not exist.

Object stores that are mounted as a folder, such as `/Volumes` or `/dbfs` of Databricks, refuse to
rename or lock files. A probe finds this out before the first file is written. There, a file is
written directly under its name, as it becomes visible when it is closed.

Cost: some milliseconds for each synced file and folder, and the time to write the content to disk.
"""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from covey.errors import StoreError
from covey.store.storage.backend import AlreadyExistsError, FileEntry, Pieces, partial_name

__all__ = ["LocalBackend"]

_NO_LINK_ERRNOS = (errno.EPERM, errno.ENOTSUP, errno.EMLINK, errno.ENOSYS)
_REFUSED_ERRNOS = (
    errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EINVAL, errno.ENOLCK, errno.EIO,
)  # fmt: skip
_PLAIN_DEVICES: dict[int, bool] = {}
"""By number of the device: whether its files can be renamed, locked and appended to."""


@dataclass(frozen=True, slots=True)
class LocalBackend:
    """Storage backend under a local path; implements `StorageBackend`."""

    root: Path

    @property
    def location(self) -> str:
        return str(self.root)

    @property
    def creates_atomically(self) -> bool:
        return _is_plain(self.root)

    def put(self, files: Mapping[str, Pieces]) -> None:
        if not _is_plain(self.root):
            for name, pieces in files.items():
                self._write_directly(name, pieces, "wb")
            return
        for name, pieces in files.items():
            os.replace(self._write_partial(name, pieces), self.local_path(name))
        for folder in {self.local_path(name).parent for name in files}:
            _sync_to_disk(folder)

    def replace(self, name: str, content: bytes) -> None:
        self.put({name: [content]})

    def put_if_absent(self, name: str, content: bytes) -> None:
        path = self.local_path(name)
        if not _is_plain(self.root):
            try:
                self._write_directly(name, [content], "xb")
            except FileExistsError:
                raise AlreadyExistsError(name, self.location) from None
            return
        temporary = self._write_partial(name, [content])
        try:
            _rename_without_replacing(temporary, path)
        except FileExistsError:
            raise AlreadyExistsError(name, self.location) from None
        finally:
            temporary.unlink(missing_ok=True)
        _sync_to_disk(path.parent)

    def put_local_file(self, path: Path, name: str) -> None:
        if not _is_plain(self.root):
            self._write_directly(name, [path.read_bytes()], "wb")
            path.unlink()
            return
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

    def _write_directly(self, name: str, pieces: Pieces, mode: str) -> None:
        """Write a file of a mounted object store."""
        path = self.local_path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with path.open(mode) as file:
                file.writelines(pieces)
        except FileExistsError:
            raise
        except BaseException:
            path.unlink(missing_ok=True)
            raise

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


def _is_plain(folder: Path) -> bool:
    """Return whether files below a folder, which may not exist yet, can be renamed and locked.

    The first call for a device creates a file, renames it, locks it and deletes it.
    """
    while not folder.exists():
        folder = folder.parent
    device = folder.stat().st_dev
    if device not in _PLAIN_DEVICES:
        _PLAIN_DEVICES[device] = _probe(folder)
    return _PLAIN_DEVICES[device]


def _probe(folder: Path) -> bool:
    """Return whether a file in a folder can be renamed, locked and appended to."""
    first = folder / f".covey-probe-{secrets.token_hex(8)}"
    second = first.with_suffix(".renamed")
    try:
        first.write_bytes(b"1")
        os.rename(first, second)
        with second.open("ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            file.write(b"2")
    except OSError as error:
        return error.errno not in _REFUSED_ERRNOS  # the next write reports other errors
    finally:
        with suppress(OSError):
            first.unlink(missing_ok=True)
            second.unlink(missing_ok=True)
    return True


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
