"""Arrays in one file, written once, named by its SHA-256 and read by memory map.

    magic (8 bytes), format (u32), header size (u32), file size (u64)
    header: JSON with the name, dtype, shape and offset of every array, and free `meta`
    the arrays, little-endian, each at a multiple of 64 bytes

The checksum is not in the file: whoever names the file names it. It is verified at every open, so
that what is read is what was written; after that, arrays are views of the map and cost no copy,
and processes that map one file share its pages. Nothing in a file is ever executed.

Cost: one pass of SHA-256 to write and one to open, about a second per GB.
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
_FORMAT = 2
_PREFIX = struct.Struct("<8sIIQ")
_ALIGNMENT = 64
_NUMERIC_KINDS = "biuf"  # bool, signed, unsigned, float: plain numbers


@dataclass(frozen=True, slots=True)
class EncodedFile:
    """A file that is not written yet: its bytes in pieces, their number and their SHA-256."""

    pieces: tuple[bytes | memoryview, ...]
    size_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class MappedArrays:
    """What a file holds. The arrays are read-only views that keep the map alive."""

    arrays: Mapping[str, NDArray[Any]]
    meta: Mapping[str, Any]
    size_bytes: int
    sha256: str


def encode_arrays(arrays: Mapping[str, NDArray[Any]], meta: Mapping[str, JsonValue]) -> EncodedFile:
    """The file of some arrays, and of `meta`, which JSON must be able to hold.

    Arrays of anything but plain numbers are a `StoreError`. No array is copied that is contiguous
    and little-endian; the same arrays and meta give the same bytes.

    >>> encode_arrays({"x": np.arange(3)}, {}).size_bytes % 64
    0
    """
    listed, offset = [], 0
    pieces: list[bytes | memoryview] = []
    for name, given in arrays.items():
        array = _to_storable(name, given)
        listed.append(
            {"name": name, "dtype": array.dtype.str, "shape": array.shape, "offset": offset}
        )
        pieces += [array.reshape(-1).view(np.uint8).data, _alignment_padding(array.nbytes)]
        offset += array.nbytes + len(pieces[-1])
    header = json.dumps({"arrays": listed, "meta": meta}, sort_keys=True).encode()
    start = _PREFIX.size + len(header)
    size = start + len(_alignment_padding(start)) + offset
    prefix = _PREFIX.pack(_MAGIC, _FORMAT, len(header), size)
    pieces = [prefix, header, _alignment_padding(start), *pieces]
    hashed = hashlib.sha256()
    for piece in pieces:
        hashed.update(piece)
    return EncodedFile(tuple(pieces), size, hashed.hexdigest())


def open_array_file(path: Path, sha256: str) -> MappedArrays:
    """The file at a local path; see `read_array_file`."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        raise StoreError(
            f"{path} is gone: it was deleted, or vacuum deleted the version that names it"
        ) from None
    with file:
        return read_array_file(file, sha256)


def read_array_file(file: BinaryIO, sha256: str) -> MappedArrays:
    """What an open file holds, if its bytes have this SHA-256; else a `StoreError` that says why.

    The map outlives the file object.
    """
    content = _map_file(file)
    size, header_size = _read_prefix(content, file.name)
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise StoreError(f"{file.name} is damaged: its SHA-256 is {found}, not {sha256}")
    try:
        header = json.loads(content[_PREFIX.size : _PREFIX.size + header_size])
        start = _PREFIX.size + header_size
        start += len(_alignment_padding(start))
        arrays = {entry["name"]: _view_array(content, start, entry) for entry in header["arrays"]}
        return MappedArrays(arrays, header["meta"], size, sha256)
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{file.name} has a header that cannot be read: {error!r}") from None


def _to_storable(name: str, array: NDArray[Any]) -> NDArray[Any]:
    """The array as it is stored: contiguous and little-endian."""
    if array.dtype.kind not in _NUMERIC_KINDS:
        raise StoreError(f"array {name!r} is of {array.dtype}: only plain numbers are stored")
    return np.ascontiguousarray(array, array.dtype.newbyteorder("<")).reshape(array.shape)


def _alignment_padding(size: int) -> bytes:
    """What follows so many bytes up to the next place for an array."""
    return bytes(-size % _ALIGNMENT)


def _map_file(file: BinaryIO) -> mmap.mmap:
    size = file.seek(0, 2)
    if size < _PREFIX.size:
        raise StoreError(f"{file.name} is no file of covey, or truncated: it has {size} bytes")
    try:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as error:
        if error.errno == errno.ENOMEM:
            raise StoreError(_address_space_message(file.name, size)) from None
        raise StoreError(f"{file.name} cannot be mapped into memory: {error}") from None


def _address_space_message(name: str, size_bytes: int) -> str:
    """Why a map was refused, and what to set."""
    problem = f"{name} cannot be mapped into memory: no room for {size_bytes} bytes"
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return f"{problem} in the address space of this process"
    return (
        f"{problem} in an address space that is limited to {limit} bytes (RLIMIT_AS): a map needs "
        "addresses, not memory; raise the limit, which in a Spark worker is "
        "spark.executor.pyspark.memory, or leave that setting out"
    )


def _read_prefix(content: mmap.mmap, name: str) -> tuple[int, int]:
    """Sizes of file and header, of a file that says it is one of ours and whole."""
    magic, version, header_size, size = _PREFIX.unpack_from(content)
    if magic != _MAGIC:
        raise StoreError(f"{name} is no file of covey, or its first bytes are damaged")
    if version != _FORMAT:
        raise StoreError(
            f"{name} has format {version}, this covey reads format {_FORMAT}: the store was "
            "written by another version of covey and must be made again"
        )
    if size != len(content):
        raise StoreError(f"{name} is truncated or damaged: {len(content)} bytes of {size}")
    return size, header_size


def _view_array(content: mmap.mmap, start: int, entry: Mapping[str, Any]) -> NDArray[Any]:
    dtype, shape = np.dtype(entry["dtype"]), tuple(entry["shape"])
    if dtype.kind not in _NUMERIC_KINDS:
        raise ValueError(f"dtype {dtype}")
    count = math.prod(shape)
    flat = np.frombuffer(content, dtype, count, start + entry["offset"]) if count else ()
    return np.asarray(flat, dtype).reshape(shape)
