"""Storage: immutable files that are named by their SHA-256 and opened by memory map.

A file becomes visible when its whole content is durable, and never changes afterwards. The SHA-256
of a file is verified whenever the file is opened. Files of a local store are mapped in place. Files
of a remote store are downloaded into a cache that all processes of a machine share.

Modules, in the order in which the content of a file passes through them:

- `array_file`: the file format, named NumPy arrays with JSON metadata; encodes and maps files.
- `content_store`: `ContentStore`, the content-addressed files of one store.
- `location`: the storage backend for a path or URI.
- `backend`: `StorageBackend`, the protocol: put, put-if-absent, replace, list, delete.
- `local`: the backend for local paths, durable with fsync.
- `object_store`: the backend for S3 and other object stores, with conditional writes.
- `web_hdfs`: the backend for HDFS over HTTP, which needs no native library.
- `arrow_fs`: the backend for all other `pyarrow.fs.FileSystem`s.
- `lock`: locks between processes: the writer's lock and the locks of cache entries.
- `cache`: the local cache of remote files, with eviction of the least recently used.

This package does not depend on segments, manifests or subscriptions.
"""

from typing import TYPE_CHECKING

from covey._lazy import lazy_exports

if TYPE_CHECKING:
    from covey.store.storage.array_file import MappedArrays, encode_arrays
    from covey.store.storage.backend import (
        PARTIAL_SUFFIX,
        AlreadyExistsError,
        FileEntry,
        Pieces,
        StorageBackend,
    )
    from covey.store.storage.content_store import ContentStore
    from covey.store.storage.location import open_storage
    from covey.store.storage.lock import WriterLock

__all__ = [
    "PARTIAL_SUFFIX",
    "AlreadyExistsError",
    "ContentStore",
    "FileEntry",
    "MappedArrays",
    "Pieces",
    "StorageBackend",
    "WriterLock",
    "encode_arrays",
    "open_storage",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "AlreadyExistsError": "backend",
        "ContentStore": "content_store",
        "FileEntry": "backend",
        "MappedArrays": "array_file",
        "PARTIAL_SUFFIX": "backend",
        "Pieces": "backend",
        "StorageBackend": "backend",
        "WriterLock": "lock",
        "encode_arrays": "array_file",
        "open_storage": "location",
    },
)
