"""Conversion of ids between the user's type and the two types of a store, without loss.

A store contains ids as numbers or as texts. Integers, dates and timestamps become numbers. Strings,
decimals and binary values become texts that represent their values exactly.
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
    """Conversion of ids of one Arrow type to the ids of a store and back.

    >>> as_bytes = IdType(pa.binary())
    >>> as_bytes.from_store(as_bytes.to_store(pa.array([b"\\x00\\xff"]))).to_pylist()
    [b'\\x00\\xff']
    """

    arrow_type: pa.DataType

    @classmethod
    def from_spark(cls, column: str, data_type: DataType) -> IdType:
        """Return the conversion for a Spark type.

        Args:
            column: name of the column of ids, for the error message.
            data_type: type of the column.

        Raises:
            InvalidArgumentError: values of the type cannot be ids.
        """
        try:
            arrow = to_arrow_type(data_type, timezone="UTC")
        except Exception:
            arrow = pa.null()
        t = pa.types
        if not any(
            is_id_type(arrow)
            for is_id_type in (t.is_integer, t.is_string, t.is_binary, t.is_decimal, t.is_date32,
                               t.is_timestamp)
        ):  # fmt: skip
            raise InvalidArgumentError(
                f"column {column!r} is {data_type.simpleString()}, which cannot be an id: ids must "
                "be integers, strings, binary, decimals, dates or timestamps; cast the column"
            )
        return cls(arrow)

    @property
    def kind(self) -> IdKind:
        """Kind of these ids in the store: numbers or texts."""
        is_text = any(
            is_text_type(self.arrow_type)
            for is_text_type in (pa.types.is_string, pa.types.is_binary, pa.types.is_decimal)
        )
        return IdKind.TEXT if is_text else IdKind.NUMBER

    def to_store(self, ids: pa.Array) -> pa.Array:
        """Return ids of the user's type as ids of the store; nulls stay null."""
        if pa.types.is_binary(self.arrow_type):
            texts = [None if id_ is None else id_.decode("latin-1") for id_ in ids.to_pylist()]
            return pa.array(texts, pa.large_string())
        if pa.types.is_date32(self.arrow_type):
            ids = ids.cast(pa.int32())
        return ids.cast(pa.int64() if self.kind is IdKind.NUMBER else pa.large_string())

    def from_store(self, ids: pa.Array) -> pa.Array:
        """Return ids of the store as ids of the user's type."""
        if pa.types.is_binary(self.arrow_type):
            return pa.array([id_.encode("latin-1") for id_ in ids.to_pylist()], self.arrow_type)
        if pa.types.is_date32(self.arrow_type):
            ids = ids.cast(pa.int32())
        return ids if ids.type == self.arrow_type else ids.cast(self.arrow_type)

    def find_duplicates(self, ids: pa.Array) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Return for each id whether it occurs more than once; False for a null."""
        codes = np.asarray(ids.dictionary_encode().indices.fill_null(-1), np.int64)
        return np.asarray((np.bincount(codes + 1)[codes + 1] > 1) & (codes >= 0), np.bool_)
