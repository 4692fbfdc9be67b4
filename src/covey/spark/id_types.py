"""Ids of the type that users have, kept in a store as numbers or texts and given back unchanged.

Integers, dates and timestamps are numbers; strings are texts, and so are decimals and bytes, which
a text tells exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import DataType

from covey.errors import InvalidArgumentError
from covey.store import IdKind

__all__ = ["IdType"]


@dataclass(frozen=True, slots=True)
class IdType:
    """How ids of one Arrow type are kept.

    >>> as_bytes = IdType(pa.binary())
    >>> as_bytes.from_store(as_bytes.to_store(pa.array([b"\\x00\\xff"]))).to_pylist()
    [b'\\x00\\xff']
    """

    arrow_type: pa.DataType

    @classmethod
    def from_spark(cls, column: str, data_type: DataType) -> IdType:
        """That of a column of Spark's; what cannot be an id is refused."""
        try:
            arrow = to_arrow_type(data_type, timezone="UTC")
        except Exception:
            arrow = pa.null()
        t = pa.types
        if not any(
            is_one(arrow)
            for is_one in (t.is_integer, t.is_string, t.is_binary, t.is_decimal, t.is_date32,
                           t.is_timestamp)
        ):  # fmt: skip
            raise InvalidArgumentError(
                f"column {column!r} is {data_type.simpleString()}, which cannot be an id: ids are "
                "integers, strings, binary, decimals, dates or timestamps; cast it"
            )
        return cls(arrow)

    @property
    def kind(self) -> IdKind:
        """What the store holds."""
        is_text = any(
            is_one(self.arrow_type)
            for is_one in (pa.types.is_string, pa.types.is_binary, pa.types.is_decimal)
        )
        return IdKind.TEXT if is_text else IdKind.NUMBER

    def to_store(self, ids: pa.Array) -> pa.Array:
        """Ids as the store takes them."""
        if pa.types.is_binary(self.arrow_type):
            texts = [None if one is None else one.decode("latin-1") for one in ids.to_pylist()]
            return pa.array(texts, pa.large_string())
        if pa.types.is_date32(self.arrow_type):
            ids = ids.cast(pa.int32())
        return ids.cast(pa.int64() if self.kind is IdKind.NUMBER else pa.large_string())

    def from_store(self, ids: pa.Array) -> pa.Array:
        """Ids as the user has them."""
        if pa.types.is_binary(self.arrow_type):
            return pa.array([one.encode("latin-1") for one in ids.to_pylist()], self.arrow_type)
        if pa.types.is_date32(self.arrow_type):
            ids = ids.cast(pa.int32())
        return ids if ids.type == self.arrow_type else ids.cast(self.arrow_type)

    def find_duplicates(self, ids: pa.Array) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Which of some ids occur more than once among them."""
        codes = np.asarray(ids.dictionary_encode().indices.fill_null(-1), np.int64)
        return np.asarray((np.bincount(codes + 1)[codes + 1] > 1) & (codes >= 0), np.bool_)
