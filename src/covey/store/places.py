"""From what people write as the place of a store to its directory."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
from pyarrow import fs

from covey.errors import ValueRefused
from covey.store.directory import Directory
from covey.store.local import LocalDirectory
from covey.store.remote import RemoteDirectory

__all__ = ["Place", "directory_at"]

Place = str | os.PathLike[str]


def directory_at(place: Place, filesystem: fs.FileSystem | None = None) -> Directory:
    """The directory at a local path, at a URI as `s3://bucket/alerts`, or in a given file system.

    >>> directory_at("/data/alerts").place
    '/data/alerts'
    """
    path = os.fspath(place)
    if not isinstance(path, str) or not path:
        raise ValueRefused(f"the place of a store is a path or a URI, not {place!r}")
    if filesystem is None and "://" in path:
        try:
            filesystem, path = fs.FileSystem.from_uri(path)
        except (pa.ArrowInvalid, OSError) as error:
            raise ValueRefused(f"no file system for {path!r}: {error}") from None
    while isinstance(filesystem, fs.SubTreeFileSystem):
        path = f"{filesystem.base_path.rstrip('/')}/{path.lstrip('/')}"
        filesystem = filesystem.base_fs
    if filesystem is None or isinstance(filesystem, fs.LocalFileSystem):
        return LocalDirectory(Path(path).absolute())
    return RemoteDirectory(filesystem, path.rstrip("/"))
