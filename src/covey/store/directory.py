"""What a store asks of a file system: files that appear whole or not at all.

`covey.store.local` makes them durable with fsync; `covey.store.remote` is any other
`pyarrow.fs.FileSystem`, and durable as that is.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

__all__ = ["PARTIAL", "Directory", "Listed", "Pieces", "partial"]

Pieces = Sequence[bytes | memoryview]

PARTIAL = ".partial"
"""How the names of files end that are still being written, or whose writer was killed."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A file in a folder: its name there, and when it was written, in seconds since 1970."""

    name: str
    size_bytes: int
    written: float


class Directory(Protocol):
    """Files by name; a name has one folder at most, as `versions/7.json`."""

    @property
    def place(self) -> str:
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

    def publish(self, name: str, content: bytes) -> None:
        """Makes one file visible in one step, and durable; a name in use is a `StoreError`."""
        ...

    def adopt(self, path: Path, name: str) -> None:
        """Like `put`, from a local file, which is gone afterwards if it could be renamed."""
        ...

    def read(self, name: str) -> bytes:
        """The content of a file; `FileNotFoundError` if there is none."""
        ...

    def download(self, name: str, into: BinaryIO) -> None:
        """Copies a file; `FileNotFoundError` if there is none."""
        ...

    def list(self, folder: str) -> list[Listed]:
        """The files in a folder, unfinished ones included; none if there is no such folder."""
        ...

    def delete(self, name: str) -> None:
        """Deletes a file, if it is there."""
        ...

    def local_path(self, name: str) -> Path | None:
        """Where the file can be mapped in place, on a local file system."""
        ...


def partial(name: str) -> str:
    """A name that no other writer uses, for a file that is not yet to be seen."""
    return f"{name}.{secrets.token_hex(8)}{PARTIAL}"
