"""The location of a store, and the storage backend for it."""

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
from covey.store.storage.object_store import OBJECT_SCHEMES, open_object_store
from covey.store.storage.web_hdfs import WEB_HDFS_SCHEMES, open_web_hdfs

__all__ = ["Location", "open_storage"]

Location = str | os.PathLike[str]
"""Path or URI of a store."""


def open_storage(location: Location, filesystem: fs.FileSystem | None = None) -> StorageBackend:
    """Return the storage backend for a local path, a URI, or a path in `filesystem`.

    An example of a URI is `s3://bucket/alerts`. Nothing is created or read.

    Raises:
        InvalidArgumentError: if the location is not a path or a URI, or cannot be used.

    >>> open_storage("/data/alerts").location
    '/data/alerts'
    """
    path = os.fspath(location)
    if not isinstance(path, str) or not path:
        raise InvalidArgumentError(
            f"the location of a store must be a path or a URI, got {location!r}"
        )
    if filesystem is None and "://" in path:
        if path.partition(":")[0] in OBJECT_SCHEMES:
            return open_object_store(path)
        if path.partition(":")[0] in WEB_HDFS_SCHEMES:
            return open_web_hdfs(path)
        try:
            filesystem, path = fs.FileSystem.from_uri(path)
        except (pa.ArrowInvalid, OSError) as error:
            raise InvalidArgumentError(f"the location {path!r} cannot be opened: {error}") from None
    while isinstance(filesystem, fs.SubTreeFileSystem):
        path = f"{filesystem.base_path.rstrip('/')}/{path.lstrip('/')}"
        filesystem = filesystem.base_fs
    if filesystem is None or isinstance(filesystem, fs.LocalFileSystem):
        check_local_path("the location of a store", path)
        return LocalBackend(Path(path).absolute())
    return ArrowBackend(filesystem, path.rstrip("/"))
