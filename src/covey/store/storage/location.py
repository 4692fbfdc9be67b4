"""From what people write as the place of a store to its directory."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
from pyarrow import fs

from covey._argument_checks import check_local_path
from covey.errors import InvalidArgumentError
from covey.store.storage.arrow_fs import ArrowBackend
from covey.store.storage.backend import StorageBackend
from covey.store.storage.local import LocalBackend

__all__ = ["Location", "open_storage"]

Location = str | os.PathLike[str]


def open_storage(location: Location, filesystem: fs.FileSystem | None = None) -> StorageBackend:
    """The directory at a local path, at a URI as `s3://bucket/alerts`, or in a given file system.

    >>> open_storage("/data/alerts").location
    '/data/alerts'
    """
    path = os.fspath(location)
    if not isinstance(path, str) or not path:
        raise InvalidArgumentError(f"the place of a store is a path or a URI, not {location!r}")
    if filesystem is None and "://" in path:
        try:
            filesystem, path = fs.FileSystem.from_uri(path)
        except (pa.ArrowInvalid, OSError) as error:
            raise InvalidArgumentError(f"no file system for {path!r}: {error}") from None
    while isinstance(filesystem, fs.SubTreeFileSystem):
        path = f"{filesystem.base_path.rstrip('/')}/{path.lstrip('/')}"
        filesystem = filesystem.base_fs
    if filesystem is None or isinstance(filesystem, fs.LocalFileSystem):
        check_local_path("the place of a store", path)
        return LocalBackend(Path(path).absolute())
    return ArrowBackend(filesystem, path.rstrip("/"))
