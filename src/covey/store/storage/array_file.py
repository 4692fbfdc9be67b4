"""File format for named arrays: written once, named by its SHA-256 and read by memory map.

    magic (8 bytes), format (u32), header size (u32), file size (u64)
    header: JSON with the name, dtype, shape and offset of every array, and any metadata as `meta`
    the arrays, little-endian, each at a multiple of 64 bytes

The SHA-256 is not in the file, but is its name. It is verified whenever the file is opened, so a
file is read exactly as it was written. The arrays are views of the memory map and are not copied;
processes that map the same file share its pages. Nothing in a file is ever executed.

Cost: SHA-256 of the whole file to write it and to open it, about a second per GB each time.
"""

from __future__ import annotations

import errno
import hashlib
import json
import math
import mmap
import resource
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from covey._types import JsonValue
from covey.errors import StoreError

__all__ = ["EncodedFile", "MappedArrays", "encode_arrays", "open_array_file", "read_array_file"]

_MAGIC = b"\x93COVEY\r\n"
_FORMAT = 3
_PREFIX = struct.Struct("<8sIIQ")
_ALIGNMENT = 64
_NUMERIC_KINDS = "biuf"  # bool, signed, unsigned, float: plain numbers


@dataclass(frozen=True, slots=True)
class EncodedFile:
    """Content of a file before it is written: the bytes in pieces, their total size and SHA-256."""

    pieces: tuple[bytes | memoryview, ...]
    size_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class MappedArrays:
    """Arrays and metadata of an open file; the arrays are read-only views of its memory map."""

    arrays: Mapping[str, NDArray[Any]]
    meta: Mapping[str, Any]
    size_bytes: int
    sha256: str


def encode_arrays(arrays: Mapping[str, NDArray[Any]], meta: Mapping[str, JsonValue]) -> EncodedFile:
    """Encode arrays and metadata as the content of a file.

    `meta` must be representable as JSON. Contiguous little-endian arrays are not copied. The same
    arrays and metadata always give the same bytes.

    Raises:
        StoreError: if an array has other values than booleans, integers or floats.

    >>> encode_arrays({"x": np.arange(3)}, {}).size_bytes % 64
    0
    """
    entries, offset = [], 0
    pieces: list[bytes | memoryview] = []
    for name, values in arrays.items():
        array = _to_storable(name, values)
        entries.append(
            {"name": name, "dtype": array.dtype.str, "shape": array.shape, "offset": offset}
        )
        pieces += [array.reshape(-1).view(np.uint8).data, _alignment_padding(array.nbytes)]
        offset += array.nbytes + len(pieces[-1])
    header = json.dumps({"arrays": entries, "meta": meta}, sort_keys=True).encode()
    start = _PREFIX.size + len(header)
    size = start + len(_alignment_padding(start)) + offset
    prefix = _PREFIX.pack(_MAGIC, _FORMAT, len(header), size)
    pieces = [prefix, header, _alignment_padding(start), *pieces]
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
    return EncodedFile(tuple(pieces), size, digest.hexdigest())


def open_array_file(path: Path, sha256: str) -> MappedArrays:
    """Open the file at a local path, verify it and map it, as `read_array_file` does.

    Raises:
        StoreError: if the file does not exist, or for the reasons of `read_array_file`.
    """
    try:
        file = path.open("rb")
    except FileNotFoundError:
        raise StoreError(
            f"{path} does not exist: it was deleted, or vacuum deleted the version that names it; "
            "open the newest version, or restore the file from a copy"
        ) from None
    with file:
        return read_array_file(file, sha256)


def read_array_file(file: BinaryIO, sha256: str) -> MappedArrays:
    """Map an open file into memory, and verify that it has this SHA-256.

    The map stays valid after the file is closed.

    Raises:
        StoreError: the file is truncated, is not a file of covey, has an unknown format, a header
            that cannot be read or another SHA-256, or cannot be mapped.
    """
    content = _map_file(file)
    size, header_size = _read_prefix(content, file.name)
    actual_sha256 = hashlib.sha256(content).hexdigest()
    if actual_sha256 != sha256:
        raise StoreError(
            f"{file.name} is damaged: its SHA-256 is {actual_sha256}, not {sha256}; "
            "restore it from a copy"
        )
    try:
        header = json.loads(content[_PREFIX.size : _PREFIX.size + header_size])
        start = _PREFIX.size + header_size
        start += len(_alignment_padding(start))
        arrays = {entry["name"]: _view_array(content, start, entry) for entry in header["arrays"]}
        return MappedArrays(arrays, header["meta"], size, sha256)
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(
            f"{file.name} has a header that cannot be read ({error!r}): create the store again"
        ) from None


def _to_storable(name: str, array: NDArray[Any]) -> NDArray[Any]:
    """Return an array as it is stored: contiguous and little-endian.

    Raises:
        StoreError: if the array has other values than booleans, integers or floats.
    """
    if array.dtype.kind not in _NUMERIC_KINDS:
        raise StoreError(
            f"array {name!r} has dtype {array.dtype}: only booleans, integers and floats can be "
            "stored"
        )
    return np.ascontiguousarray(array, array.dtype.newbyteorder("<")).reshape(array.shape)


def _alignment_padding(size: int) -> bytes:
    """Return the zero bytes between `size` bytes of content and the next multiple of 64."""
    return bytes(-size % _ALIGNMENT)


def _map_file(file: BinaryIO) -> mmap.mmap:
    """Map a file into memory; raise StoreError if it is too short or cannot be mapped."""
    size = file.seek(0, 2)
    if size < _PREFIX.size:
        raise StoreError(
            f"{file.name} is truncated or is not a file of covey: it has {size} bytes; restore it "
            "from a copy"
        )
    try:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as error:
        if error.errno == errno.ENOMEM:
            raise StoreError(_address_space_message(file.name, size)) from None
        raise StoreError(f"{file.name} cannot be mapped into memory: {error}") from None


def _address_space_message(name: str, size_bytes: int) -> str:
    """Return the message for a file whose memory map does not fit in the address space."""
    problem = f"{name} cannot be mapped into memory: {size_bytes} bytes do not fit"
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return f"{problem} in the address space of this process"
    return (
        f"{problem} in an address space that is limited to {limit} bytes (RLIMIT_AS). A map needs "
        "addresses, not memory: raise the limit, which in a Spark worker is "
        "spark.executor.pyspark.memory, or do not set it"
    )


def _read_prefix(content: mmap.mmap, name: str) -> tuple[int, int]:
    """Check the prefix of a file, and return the sizes of file and header in bytes."""
    magic, format_number, header_size, size = _PREFIX.unpack_from(content)
    if magic != _MAGIC:
        raise StoreError(
            f"{name} is not a file of covey, or its first bytes are damaged; restore it from a copy"
        )
    if format_number != _FORMAT:
        raise StoreError(
            f"{name} has format {format_number}, but this release of covey reads format {_FORMAT}: "
            "use the release that wrote the store, or create the store again"
        )
    if size != len(content):
        raise StoreError(
            f"{name} is truncated or damaged: it has {len(content)} bytes instead of {size}; "
            "restore it from a copy"
        )
    return size, header_size


def _view_array(content: mmap.mmap, start: int, entry: Mapping[str, Any]) -> NDArray[Any]:
    """Return an array as a view of the map; `start` is the position of the first array."""
    dtype, shape = np.dtype(entry["dtype"]), tuple(entry["shape"])
    if dtype.kind not in _NUMERIC_KINDS:
        raise ValueError(f"dtype {dtype}")
    count = math.prod(shape)
    flat = np.frombuffer(content, dtype, count, start + entry["offset"]) if count else ()
    return np.asarray(flat, dtype).reshape(shape)
