"""Ids of subscriptions: numbers or text, looked up by a 64-bit key.

The key of a number is the number itself, and the key of a text is a hash of the text. If different
texts have the same key, the texts are compared. The subscriptions of a segment are in the order of
their keys, so that an id is found by binary search and no lookup table is needed.

Cost: 8 bytes per id, plus the text; one binary search for each id that is looked up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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
    """Type of the ids of a store: either all are numbers or all are text."""

    NUMBER = "int64"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class Ids:
    """Array of ids: a 64-bit key for each id, and the texts, or None if the ids are numbers.

    `values` are the ids as an Arrow array of int64 or `large_string`, which shares the memory of
    `keys` or `texts`.

    >>> ids = Ids.from_values([30, 10, 20], IdKind.NUMBER)
    >>> ordered = ids.take(ids.argsort_by_key())
    >>> ordered.find_rows(Ids.from_values([10, 11], IdKind.NUMBER)).tolist()
    [0, -1]
    """

    keys: NDArray[np.int64]
    texts: pa.LargeStringArray | None
    values: pa.Array = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        values = pa.array(self.keys) if self.texts is None else self.texts
        object.__setattr__(self, "values", values)

    @classmethod
    def from_values(cls, ids: object, id_kind: IdKind) -> Ids:
        """Return ids from an Arrow array, or from any value that `pa.array` accepts.

        Raises:
            InvalidArgumentError: if an id is null or does not have the type `id_kind`.
        """
        column = _to_arrow_column(ids, id_kind)
        if id_kind is IdKind.NUMBER:
            return cls(column.to_numpy(zero_copy_only=False), None)
        digests = [blake2b(text, digest_size=8).digest() for text in _to_bytes(column)]
        return cls(np.frombuffer(b"".join(digests), "<i8").astype(np.int64), column)

    @classmethod
    def concat(cls, parts: Sequence[Ids]) -> Ids:
        """Return the ids of all `parts`, one part after another."""
        keys = np.concatenate([part.keys for part in parts])
        if parts[0].texts is None:
            return cls(keys, None)
        return cls(keys, pa.concat_arrays([part.texts for part in parts]))

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Ids:
        """Return the ids that `to_arrays` stored as `arrays`."""
        if "bytes" not in arrays:
            return cls(arrays["keys"], None)
        offsets, content = pa.py_buffer(arrays["offsets"]), pa.py_buffer(arrays["bytes"])
        texts = pa.LargeStringArray.from_buffers(len(arrays["keys"]), offsets, content)
        return cls(arrays["keys"], texts)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the ids as NumPy arrays for storage; `from_arrays` reads them."""
        if self.texts is None:
            return {"keys": self.keys}
        texts = pa.concat_arrays([self.texts])  # its buffers start at row 0, also for a slice
        _, offsets, content = texts.buffers()
        return {
            "keys": self.keys,
            "offsets": np.frombuffer(offsets, np.int64, len(texts) + 1),
            "bytes": np.frombuffer(content or b"", np.uint8),
        }

    def __len__(self) -> int:
        return len(self.keys)

    def argsort_by_key(self) -> Rows:
        """Return the row numbers in ascending order of keys."""
        return np.argsort(self.keys, kind="stable")

    def take(self, rows: NDArray[np.integer[Any]]) -> Ids:
        """Return the ids at `rows`, in that order."""
        texts = None if self.texts is None else self.texts.take(pa.array(rows))
        return Ids(self.keys[rows], texts)

    def find_rows(self, query_ids: Ids) -> Rows:
        """Return the row in `self` of each query id, or -1 if `self` does not contain the id.

        The ids of `self` must be in the order of `argsort_by_key`.
        """
        found_rows = np.full(len(query_ids), -1, np.int64)
        rows = np.searchsorted(self.keys, query_ids.keys)
        unresolved = np.arange(len(query_ids))
        while len(unresolved):  # more than one pass only if different texts have the same key
            unresolved = unresolved[rows[unresolved] < len(self)]
            unresolved = unresolved[self.keys[rows[unresolved]] == query_ids.keys[unresolved]]
            is_equal = self._are_same(rows[unresolved], query_ids, unresolved)
            found_rows[unresolved[is_equal]] = rows[unresolved[is_equal]]
            unresolved = unresolved[~is_equal]
            rows[unresolved] += 1
        return found_rows

    def first_duplicate(self) -> object | None:
        """Return an id that occurs more than once, or None."""
        column = self.values
        counts = column.value_counts() if len(column.unique()) < len(column) else []
        return next((c["values"].as_py() for c in counts if c["counts"].as_py() > 1), None)

    def _are_same(self, rows: Rows, query_ids: Ids, query_rows: Rows) -> NDArray[np.bool_]:
        """Return for each pair of ids with the same key whether the ids are equal.

        Pair i consists of the id at `rows[i]` of `self` and the id at `query_rows[i]` of
        `query_ids`.
        """
        if self.texts is None or query_ids.texts is None:
            return np.ones(len(rows), np.bool_)
        stored_texts = self.texts.take(pa.array(rows))
        query_texts = query_ids.texts.take(pa.array(query_rows))
        pairs = zip(stored_texts.to_pylist(), query_texts.to_pylist(), strict=True)
        return np.fromiter((a == b for a, b in pairs), np.bool_, len(rows))


def _to_arrow_column(ids: object, id_kind: IdKind) -> pa.Array:
    """Return ids as one Arrow array of the type of `id_kind`."""
    type_ = pa.int64() if id_kind is IdKind.NUMBER else pa.large_string()
    try:
        column = ids if isinstance(ids, pa.Array | pa.ChunkedArray) else pa.array(ids)
        if isinstance(column, pa.ChunkedArray):
            column = column.combine_chunks()
        if len(column) and pa.types.is_integer(column.type) != (id_kind is IdKind.NUMBER):
            raise TypeError(f"got a column of {column.type}")
        column = column.cast(type_)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise InvalidArgumentError(
            f"the ids of this store must be {id_kind.value}: {error}"
        ) from None
    if column.null_count:
        raise InvalidArgumentError(
            f"ids must not be null: {column.null_count} of {len(column)} ids are null"
        )
    return column


def _to_bytes(texts: pa.LargeStringArray) -> list[bytes]:
    """Return the UTF-8 bytes of each text."""
    encoded: list[bytes] = texts.cast(pa.large_binary()).to_pylist()
    return encoded
