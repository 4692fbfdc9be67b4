"""Ids of subscriptions: numbers or text, found by a 64-bit key.

The key of a number is the number, that of a text a hash of it; equal keys of different texts are
told apart by the texts. In a segment, subscriptions stand in the order of their keys, so that an id
is found by binary search and no table beside the ids is needed.

Cost: 8 bytes an id, and the text; a binary search per id looked up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from hashlib import blake2b
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from covey.errors import InvalidArgumentError

__all__ = ["IdKind", "Ids"]

Rows = NDArray[np.int64]


class IdKind(Enum):
    """What the ids of a store are: all of them numbers, or all of them text."""

    NUMBER = "int64"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class Ids:
    """n ids, each with its key; `texts` is there if they are text.

    >>> ids = Ids.from_values([30, 10, 20], IdKind.NUMBER)
    >>> ordered = ids.take(ids.argsort_by_key())
    >>> ordered.find_rows(Ids.from_values([10, 11], IdKind.NUMBER)).tolist()
    [0, -1]
    """

    keys: NDArray[np.int64]
    texts: pa.LargeStringArray | None

    @classmethod
    def from_values(cls, ids: object, id_kind: IdKind) -> Ids:
        """Ids from an Arrow array, or from what `pa.array_type` takes; null is no id."""
        column = _to_arrow_column(ids, id_kind)
        if id_kind is IdKind.NUMBER:
            return cls(column.to_numpy(zero_copy_only=False), None)
        digests = [blake2b(text, digest_size=8).digest() for text in _to_bytes(column)]
        return cls(np.frombuffer(b"".join(digests), "<i8").astype(np.int64), column)

    @classmethod
    def concat(cls, parts: Sequence[Ids]) -> Ids:
        """The ids of all parts, one after another."""
        keys = np.concatenate([part.keys for part in parts])
        if parts[0].texts is None:
            return cls(keys, None)
        return cls(keys, pa.concat_arrays([part.texts for part in parts]))

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Ids:
        """The ids that gave these `arrays`."""
        if "bytes" not in arrays:
            return cls(arrays["keys"], None)
        offsets, content = pa.py_buffer(arrays["offsets"]), pa.py_buffer(arrays["bytes"])
        texts = pa.LargeStringArray.from_buffers(len(arrays["keys"]), offsets, content)
        return cls(arrays["keys"], texts)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Plain arrays to be stored."""
        if self.texts is None:
            return {"keys": self.keys}
        whole = pa.concat_arrays([self.texts])  # without the offset of a slice
        _, offsets, content = whole.buffers()
        return {
            "keys": self.keys,
            "offsets": np.frombuffer(offsets, np.int64, len(whole) + 1),
            "bytes": np.frombuffer(content or b"", np.uint8),
        }

    def __len__(self) -> int:
        return len(self.keys)

    def to_arrow(self) -> pa.Array:
        """The ids as people know them."""
        return pa.array(self.keys) if self.texts is None else self.texts

    def argsort_by_key(self) -> Rows:
        """The rows by ascending keys."""
        return np.argsort(self.keys, kind="stable")

    def take(self, rows: NDArray[np.integer[Any]]) -> Ids:
        """The given ids in the given order."""
        texts = None if self.texts is None else self.texts.take(pa.array(rows))
        return Ids(self.keys[rows], texts)

    def find_rows(self, query_ids: Ids) -> Rows:
        """The row of each id here, -1 where there is none. Needs the order of `argsort_by_key`."""
        found = np.full(len(query_ids), -1, np.int64)
        rows = np.searchsorted(self.keys, query_ids.keys)
        open_ = np.arange(len(query_ids))
        while len(open_):  # more than once only where texts share a key
            open_ = open_[rows[open_] < len(self)]
            open_ = open_[self.keys[rows[open_]] == query_ids.keys[open_]]
            same = self._are_same(rows[open_], query_ids, open_)
            found[open_[same]] = rows[open_[same]]
            open_ = open_[~same]
            rows[open_] += 1
        return found

    def first_duplicate(self) -> object | None:
        """Some id that is there twice, or None."""
        column = self.to_arrow()
        counts = column.value_counts() if len(column.unique()) < len(column) else []
        return next((c["values"].as_py() for c in counts if c["counts"].as_py() > 1), None)

    def _are_same(self, rows: Rows, query_ids: Ids, query_rows: Rows) -> NDArray[np.bool_]:
        """Whether ids with equal keys are equal."""
        if self.texts is None or query_ids.texts is None:
            return np.ones(len(rows), np.bool_)
        mine, theirs = self.texts.take(pa.array(rows)), query_ids.texts.take(pa.array(query_rows))
        pairs = zip(mine.to_pylist(), theirs.to_pylist(), strict=True)
        return np.fromiter((a == b for a, b in pairs), np.bool_, len(rows))


def _to_arrow_column(ids: object, id_kind: IdKind) -> pa.Array:
    """Ids as one Arrow array of the store's type."""
    type_ = pa.int64() if id_kind is IdKind.NUMBER else pa.large_string()
    try:
        column = ids if isinstance(ids, pa.Array | pa.ChunkedArray) else pa.array(ids)
        if isinstance(column, pa.ChunkedArray):
            column = column.combine_chunks()
        if len(column) and pa.types.is_integer(column.type) != (id_kind is IdKind.NUMBER):
            raise TypeError(f"a column of {column.type}")
        column = column.cast(type_)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise InvalidArgumentError(f"the ids of this store are {id_kind.value}: {error}") from None
    if column.null_count:
        raise InvalidArgumentError(f"{column.null_count} of {len(column)} ids are null")
    return column


def _to_bytes(texts: pa.LargeStringArray) -> list[bytes]:
    encoded: list[bytes] = texts.cast(pa.large_binary()).to_pylist()
    return encoded
