"""Ordered keys of scalar values: key(a) < key(b) if and only if Spark sorts a before b.

Except for texts, keys are integers without gaps: a number above 5 has at least the key after that
of 5, which is 6 for an integer, and the key of the next larger float for a float. The key of an
integer is the integer itself. The key of a date is its number of days since 1970-01-01, the key of
a timestamp its number of microseconds, and the key of a decimal its unscaled integer. The key of a
float follows from its bits: -0.0 has the key of 0.0, and all NaN have one key, which comes after
that of infinity, as Spark orders them. Keys fit in int64, except the keys of decimals with more
than 18 digits, which are Python integers. The key of a text is the text itself.

Cost: 8 bytes and a few nanoseconds per value of a column, more for texts and long decimals.
"""

from __future__ import annotations

import datetime as dt
import math
import struct
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from covey.errors import SchemaError
from covey.space.text_bounds import TOP, Below
from covey.space.types import Type, type_to_arrow

__all__ = [
    "Domain",
    "Keys",
    "decode_float",
    "decode_floats",
    "decode_key",
    "encode_column",
    "encode_double",
    "encode_floats",
    "find_column_encoder",
    "key_domain",
]  # fmt: skip

Keys = NDArray[Any]  # int64, or objects: str and Below for text, int for long decimals
ColumnEncoder = Callable[[pa.Array], tuple[Keys, NDArray[np.bool_]]]


@dataclass(frozen=True, slots=True)
class Domain:
    """All keys of a type, from `low` to `high` (both included), and the dtype of their arrays."""

    low: Any
    high: Any
    dtype: np.dtype[Any]

    def count_keys(self, lower: Any, upper: Any) -> float:
        """Return the number of keys from `lower` to `upper`; it is `inf` for most text intervals.

        >>> from covey.space.types import INT, STRING
        >>> key_domain(INT).count_keys(2, 4), key_domain(STRING).count_keys("a", "a\\0")
        (3, 2)
        """
        if lower > upper:
            return 0
        if self.low != "":
            return int(upper) - int(lower) + 1
        if (
            isinstance(upper, Below)
            or not upper.startswith(lower)
            or upper[len(lower) :].strip("\0")
        ):
            return float("inf")
        return len(upper) - len(lower) + 1

    def list_keys(self, lower: Any, upper: Any) -> list[Any]:
        """Return all keys from `lower` to `upper`, of which there must be only few.

        For texts, their number (see `count_keys`) must be finite.
        """
        if isinstance(lower, str):
            return [lower + "\0" * i for i in range(len(upper) - len(lower) + 1)]
        return list(range(int(lower), int(upper) + 1))


_INT64 = np.dtype(np.int64)
_OBJECT = np.dtype(object)
_INFINITY64 = 0x7FF0 << 48
_INFINITY32 = 0x7F80 << 16
_BITS64, _BITS32 = struct.Struct("<q"), struct.Struct("<i")
_DOUBLE, _SINGLE = struct.Struct("<d"), struct.Struct("<f")


@cache
def key_domain(type_: Type) -> Domain:
    """Return the domain of the keys of a scalar type.

    Raises:
        SchemaError: the type is not scalar.
    """
    bits = {"tinyint": 7, "smallint": 15, "int": 31, "date": 31}.get(type_.name)
    if bits is not None:
        return Domain(-(1 << bits), (1 << bits) - 1, _INT64)
    if type_.name in ("bigint", "timestamp", "timestamp_ntz"):
        return Domain(-(1 << 63), (1 << 63) - 1, _INT64)
    if type_.name == "boolean":
        return Domain(0, 1, _INT64)
    if type_.is_fractional:
        infinity = _INFINITY64 if type_.name == "double" else _INFINITY32
        return Domain(-infinity, infinity + 1, _INT64)
    if type_.is_decimal:
        top = 10**type_.precision - 1
        return Domain(-top, top, _INT64 if type_.precision <= 18 else _OBJECT)
    if type_.is_text:
        return Domain("", TOP, _OBJECT)
    raise SchemaError(f"values of type {type_} cannot be ordered: only scalar types have keys")


def encode_floats(values: NDArray[np.floating[Any]]) -> NDArray[np.int64]:
    """Return the keys of float32 or float64 values.

    >>> encode_floats(np.array([-np.inf, -0.0, 0.0, 5e-324, np.nan])).tolist()
    [-9218868437227405312, 0, 0, 1, 9218868437227405313]
    """
    wide = values.dtype == np.float64
    signed, infinity = (np.int64, _INFINITY64) if wide else (np.int32, _INFINITY32)
    bits = np.ascontiguousarray(values).view(signed).astype(np.int64, copy=False)
    sign = bits >> 63
    keys = bits & (0x7FFF_FFFF_FFFF_FFFF if wide else 0x7FFF_FFFF)
    nan = keys > infinity
    keys ^= sign
    keys -= sign
    if nan.any():
        keys[nan] = infinity + 1
    return keys


def encode_double(number: float) -> int:
    """Return the key of one double. For one value, this is much faster than `encode_floats`.

    >>> encode_double(-0.0), encode_double(5e-324)
    (0, 1)
    >>> encode_double(math.inf) < encode_double(math.nan)
    True
    """
    if math.isnan(number):
        return _INFINITY64 + 1
    bits: int = _BITS64.unpack(_DOUBLE.pack(number))[0]
    return bits if bits >= 0 else -(bits & 0x7FFF_FFFF_FFFF_FFFF)


def decode_float(key: int, type_: Type) -> float:
    """Return the float or double of one key; `decode_floats` does the same for arrays."""
    wide = type_.name == "double"
    size = abs(key)
    if size > (_INFINITY64 if wide else _INFINITY32):
        return math.nan
    number: float
    (number,) = _DOUBLE.unpack(_BITS64.pack(size)) if wide else _SINGLE.unpack(_BITS32.pack(size))
    return -number if key < 0 else number


def decode_floats(keys: NDArray[np.int64], type_: Type) -> NDArray[np.floating[Any]]:
    """Return the floats or doubles that have the given keys: the inverse of `encode_floats`."""
    wide = type_.name == "double"
    infinity = _INFINITY64 if wide else _INFINITY32
    size = np.abs(keys)
    if wide:
        floats: NDArray[Any] = size.view(np.float64)
    else:
        floats = size.astype(np.int32).view(np.float32)
    return np.where(size > infinity, floats.dtype.type(np.nan), np.where(keys < 0, -floats, floats))


def encode_column(column: pa.Array, type_: Type) -> tuple[Keys, NDArray[np.bool_]]:
    """Return for each row of an Arrow column its key, and whether the row is not null.

    The key of a null has no meaning. The column is cast to `type_`.

    Raises:
        SchemaError: a value does not fit the type.
    """
    return find_column_encoder(type_)(column)


@cache
def find_column_encoder(type_: Type) -> ColumnEncoder:
    """Return the function that encodes columns of a type as `encode_column` does."""
    if type_.is_text:
        return _encode_texts
    arrow_type, encode = type_to_arrow(type_), _find_value_encoder(type_)

    def encode_values(column: pa.Array) -> tuple[Keys, NDArray[np.bool_]]:
        try:
            values = column.cast(arrow_type)
        except pa.ArrowInvalid as error:
            raise SchemaError(f"a value does not fit type {type_}: {error}") from None
        return encode(values), np.asarray(column.is_valid())

    return encode_values


def _find_value_encoder(type_: Type) -> Callable[[pa.Array], Keys]:
    """Return the function that returns the keys of a column of exactly this type, not a text."""
    if type_.is_decimal:
        is_wide = type_.precision > 18
        return lambda column: _unscaled_integers(column, is_wide)
    if type_.is_fractional:
        return lambda column: encode_floats(column.fill_null(0.0).to_numpy())
    width = {"boolean": pa.int8(), "date": pa.int32()}.get(type_.name, pa.int64())
    return lambda column: column.cast(width).fill_null(0).to_numpy().astype(np.int64)


def _encode_texts(column: pa.Array) -> tuple[Keys, NDArray[np.bool_]]:
    keys = np.empty(len(column), object)
    keys[:] = column.cast(pa.string()).fill_null("").to_pylist()
    return keys, np.asarray(column.is_valid())


def decode_key(key: Any, type_: Type) -> Any:
    """Return the value that has the given key, as a Python object for display.

    A date or time that Python cannot represent is a text such as `9999999 days from 1970-01-01`.

    >>> from covey.space.types import DATE, decimal_type
    >>> decode_key(19000, DATE), decode_key(1250, decimal_type(9, 2))
    (datetime.date(2022, 1, 8), Decimal('12.50'))
    >>> decode_key(1, Type("boolean"))
    True
    """
    if type_.name == "boolean":
        return bool(key)
    if type_.is_fractional:
        return decode_float(int(key), type_)
    if type_.is_decimal:
        sign, digits = int(key) < 0, str(abs(int(key)))
        return Decimal((int(sign), tuple(map(int, digits)), -type_.scale))
    try:
        if type_.name == "date":
            return dt.date(1970, 1, 1) + dt.timedelta(days=int(key))
        if type_.is_datetime:
            zone = dt.UTC if type_.name == "timestamp" else None
            return dt.datetime(1970, 1, 1, tzinfo=zone) + dt.timedelta(microseconds=int(key))
    except OverflowError:
        return f"{int(key)} {'days' if type_.name == 'date' else 'µs'} from 1970-01-01"
    return key if type_.is_text else int(key)


def _unscaled_integers(column: pa.Array, wide: bool) -> Keys:
    """Return the unscaled integers of a decimal128 column; those of nulls are 0.

    If `wide` is true, they are Python integers, which may have more than 18 digits; otherwise they
    are int64.
    """
    words = np.frombuffer(column.buffers()[1], np.int64).reshape(-1, 2)
    words = words[column.offset : column.offset + len(column)]
    if not wide:
        return np.where(np.asarray(column.is_valid()), words[:, 0], 0)
    low = words[:, 0].astype(np.uint64).astype(object)
    keys: Keys = words[:, 1].astype(object) * (1 << 64) + low
    keys[~np.asarray(column.is_valid())] = 0
    return keys
