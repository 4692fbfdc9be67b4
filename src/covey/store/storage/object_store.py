"""Storage backend for object stores: S3, Google Cloud Storage, Azure, and servers like MinIO.

An object becomes visible when it is complete. `put_if_absent` is a conditional write of the object
store itself (`If-None-Match: *`), so of two writers only one succeeds.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import urlsplit

from covey.errors import InvalidArgumentError, StoreError
from covey.store.storage.backend import AlreadyExistsError, FileEntry, Pieces

__all__ = ["OBJECT_SCHEMES", "ObjectBackend", "open_object_store"]

_PART_BYTES = 1 << 23  # larger objects are sent in parts of this size


@dataclass(frozen=True, slots=True)
class ObjectBackend:
    """Storage backend under a prefix of an object store; implements `StorageBackend`.

    Args:
        store: an object store of the library obstore.
        location: the URI, for messages.
    """

    store: Any
    location: str

    @property
    def creates_atomically(self) -> bool:
        return True

    def put(self, files: Mapping[str, Pieces]) -> None:
        for name, pieces in files.items():
            self._put(name, pieces, "overwrite")

    def replace(self, name: str, content: bytes) -> None:
        self._put(name, [content], "overwrite")

    def put_if_absent(self, name: str, content: bytes) -> None:
        from obstore import exceptions

        try:
            self._put(name, [content], "create")
        except exceptions.AlreadyExistsError:
            # A repeated request is refused too if the first one succeeded and its answer was lost.
            if self.read(name) != content:
                raise AlreadyExistsError(name, self.location) from None

    def put_local_file(self, path: Path, name: str) -> None:
        with self._explain_errors():
            self.store.put(name, path, mode="overwrite", chunk_size=_PART_BYTES)

    def read(self, name: str) -> bytes:
        with self._explain_errors():
            return bytes(self.store.get(name).bytes())

    def download(self, name: str, target: BinaryIO) -> None:
        with self._explain_errors():
            for chunk in self.store.get(name).stream(min_chunk_size=_PART_BYTES):
                target.write(chunk)

    def list(self, folder: str) -> list[FileEntry]:
        try:
            with self._explain_errors():
                listing = self.store.list_with_delimiter(folder)
        except FileNotFoundError as error:
            raise StoreError(f"{self.location} cannot be listed: {error}") from None
        return [
            FileEntry(
                entry["path"].rpartition("/")[2], entry["size"], entry["last_modified"].timestamp()
            )
            for entry in listing["objects"]
        ]

    def delete(self, name: str) -> None:
        with self._explain_errors(), suppress(FileNotFoundError):
            self.store.delete(name)

    def local_path(self, name: str) -> None:
        return None

    def _put(self, name: str, pieces: Pieces, mode: str) -> None:
        """Write an object in one step; large ones are sent in parts."""
        size = sum(map(len, pieces))
        content = b"".join(pieces) if size <= _PART_BYTES else map(bytes, _split(pieces))
        with self._explain_errors():
            self.store.put(name, content, mode=mode, chunk_size=_PART_BYTES)

    @contextmanager
    def _explain_errors(self) -> Iterator[None]:
        """Raise errors of the object store with a message for users.

        Raises:
            StoreError: access is denied, or the location cannot exist.
            OSError: the object store does not answer, or has an error of its own; a later attempt
                may succeed.
        """
        from obstore import exceptions

        try:
            yield
        except exceptions.AlreadyExistsError:
            raise
        except (exceptions.PermissionDeniedError, exceptions.UnauthenticatedError) as error:
            raise StoreError(
                f"{self.location}: access is denied: check the credentials and their permissions "
                f"({_HINTS[self._scheme]}); {_first_line(error)}"
            ) from None
        except exceptions.BaseError as error:
            raise OSError(
                f"{self.location}: {_first_line(error)}: check the network and the address "
                f"({_HINTS[self._scheme]})"
            ) from None

    @property
    def _scheme(self) -> str:
        """Scheme of the location."""
        return self.location.partition(":")[0]


def _first_line(error: Exception) -> str:
    """Return the message of an error without the details for developers of the library."""
    return str(error).partition("\n")[0].strip()


def _split(pieces: Pieces) -> Iterator[memoryview]:
    """Yield the pieces of a file in parts of at most `_PART_BYTES`."""
    for piece in pieces:
        view = memoryview(piece).cast("B")
        for start in range(0, len(view), _PART_BYTES):
            yield view[start : start + _PART_BYTES]


def open_object_store(uri: str) -> ObjectBackend:
    """Return the storage backend for a URI of an object store, such as `s3://bucket/alerts`.

    Credentials, the region and other settings come from the environment. Nothing is read.

    Raises:
        InvalidArgumentError: the URI is not valid, or a package is missing.
    """
    try:
        from obstore.exceptions import BaseError
        from obstore.store import from_url
    except ImportError:
        raise InvalidArgumentError(
            f"{uri} is in an object store: install covey[remote] to open it"
        ) from None
    parts = urlsplit(uri)
    if not parts.netloc or parts.query or parts.fragment:
        raise InvalidArgumentError(
            f"the location {uri!r} must consist of a scheme, a bucket and a path, as in "
            "s3://bucket/alerts; set other options in the environment "
            f"({_HINTS.get(parts.scheme, '')})"
        )
    endpoint = os.environ.get("AWS_ENDPOINT_URL", os.environ.get("AWS_ENDPOINT", ""))
    try:
        store = from_url(uri, client_options={"allow_http": endpoint.startswith("http://")})
    except (BaseError, ValueError) as error:
        raise InvalidArgumentError(
            f"the location {uri!r} cannot be opened: {_first_line(error)}"
        ) from None
    return ObjectBackend(store, uri.rstrip("/"))


_AWS = "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION, AWS_ENDPOINT_URL"
_AZURE = "AZURE_STORAGE_ACCOUNT_NAME, AZURE_STORAGE_ACCOUNT_KEY"
_HINTS = {
    "s3": _AWS, "s3a": _AWS, "gs": "GOOGLE_APPLICATION_CREDENTIALS",
    "az": _AZURE, "abfs": _AZURE, "abfss": _AZURE,
}  # fmt: skip
"""Variables of the environment that an object store reads, by the scheme."""
OBJECT_SCHEMES = frozenset(_HINTS)
"""Schemes of the URIs of object stores."""
