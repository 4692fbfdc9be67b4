"""Storage backend: the protocol of a file system in which files become visible in one step.

`covey.store.storage.local` makes files durable with fsync. `covey.store.storage.object_store` and
`covey.store.storage.arrow_fs` are for remote file systems; files are then as durable as these make
them.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

from covey.errors import StoreError

__all__ = [
    "PARTIAL_SUFFIX",
    "AlreadyExistsError",
    "FileEntry",
    "Pieces",
    "StorageBackend",
    "partial_name",
]

Pieces = Sequence[bytes | memoryview]

PARTIAL_SUFFIX = ".partial"
"""Suffix of the names of unfinished files, which are being written or were never finished."""


class AlreadyExistsError(StoreError):
    """Raised by `StorageBackend.put_if_absent` if the name is in use."""

    def __init__(self, name: str, location: str) -> None:
        super().__init__(
            f"{name} exists already in {location}: check that no other process is writing"
        )


@dataclass(frozen=True, slots=True)
class FileEntry:
    """File in a folder: its name without the folder, its size, and when it was last written.

    `modified_at_s` is in seconds since 1970.
    """

    name: str
    size_bytes: int
    modified_at_s: float


class StorageBackend(Protocol):
    """File system that finds a file by its name, which may contain a folder: `files/7ab4`."""

    @property
    def location(self) -> str:
        """Location of the files, for messages."""
        ...

    @property
    def creates_atomically(self) -> bool:
        """Whether of several processes that call `put_if_absent` at the same time, one succeeds.

        If not, only one process at a time may write (`covey.store.storage.lock.WriterLease`).
        """
        ...

    def put(self, files: Mapping[str, Pieces]) -> None:
        """Write complete files, which are durable when the method returns.

        Each name must identify its content, because an existing file with this name may stay or be
        replaced.
        """
        ...

    def replace(self, name: str, content: bytes) -> None:
        """Write a complete file durably, and replace an existing file with this name.

        If the file system cannot replace a file in one step, the file is missing for a moment.
        """
        ...

    def put_if_absent(self, name: str, content: bytes) -> None:
        """Write a file durably in one step.

        Raises:
            AlreadyExistsError: the name is in use.
        """
        ...

    def put_local_file(self, path: Path, name: str) -> None:
        """Write a file durably, with the content of a local file, which may be moved."""
        ...

    def read(self, name: str) -> bytes:
        """Return the content of a file; raise FileNotFoundError if it does not exist."""
        ...

    def download(self, name: str, target: BinaryIO) -> None:
        """Copy the content of a file to `target`; raise FileNotFoundError if it does not exist."""
        ...

    def list(self, folder: str) -> list[FileEntry]:
        """Return all files in a folder, partial files too; none if the folder does not exist."""
        ...

    def delete(self, name: str) -> None:
        """Delete a file if it exists."""
        ...

    def local_path(self, name: str) -> Path | None:
        """Return the path at which a file can be mapped; None if the file system is not local."""
        ...


def partial_name(name: str) -> str:
    """Return a unique name for a file until it is complete."""
    return f"{name}.{secrets.token_hex(8)}{PARTIAL_SUFFIX}"
