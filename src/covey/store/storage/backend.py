"""What a store asks of a file system: files that appear whole or not at all.

`covey.store.storage.local` makes them durable with fsync; `covey.store.storage.arrow_fs` is any
other `pyarrow.fs.FileSystem`, and durable as that is.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

__all__ = ["PARTIAL_SUFFIX", "FileEntry", "Pieces", "StorageBackend", "partial_name"]

Pieces = Sequence[bytes | memoryview]

PARTIAL_SUFFIX = ".partial"
"""How the names of files end that are still being written, or whose writer was killed."""


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A file in a folder: its name there, and when it was written, in seconds since 1970."""

    name: str
    size_bytes: int
    modified_at_s: float


class StorageBackend(Protocol):
    """Files by name; a name has one folder at most, as `versions/7.json`."""

    @property
    def location(self) -> str:
        """What messages call it."""
        ...

    def put(self, files: Mapping[str, Pieces]) -> None:
        """Writes files whole; when it returns, all are there and stay there.

        A name stands for its content: a file that has the name already may stay or be replaced.
        """
        ...

    def replace(self, name: str, content: bytes) -> None:
        """Writes a file whole, in place of one that has the name; then it stays there.

        Where a file system cannot do that in one step, there is a moment in which there is none.
        """
        ...

    def put_if_absent(self, name: str, content: bytes) -> None:
        """Makes one file visible in one step, and durable; a name in use is a `StoreError`."""
        ...

    def put_local_file(self, path: Path, name: str) -> None:
        """Like `put`, from a local file, which is gone afterwards if it could be renamed."""
        ...

    def read(self, name: str) -> bytes:
        """The content of a file; `FileNotFoundError` if there is none."""
        ...

    def download(self, name: str, target: BinaryIO) -> None:
        """Copies a file; `FileNotFoundError` if there is none."""
        ...

    def list(self, folder: str) -> list[FileEntry]:
        """The files in a folder, unfinished ones included; none if there is no such folder."""
        ...

    def delete(self, name: str) -> None:
        """Deletes a file, if it is there."""
        ...

    def local_path(self, name: str) -> Path | None:
        """Where the file can be mapped in place, on a local file system."""
        ...


def partial_name(name: str) -> str:
    """A name that no other writer uses, for a file that is not yet to be seen."""
    return f"{name}.{secrets.token_hex(8)}{PARTIAL_SUFFIX}"
