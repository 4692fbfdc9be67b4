"""Keys keep the order of values exactly, also at the ends of every type."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey.errors import SchemaError
from covey.space.keys import (
    decode_float,
    decode_floats,
    decode_key,
    encode_column,
    encode_double,
    encode_floats,
    key_domain,
)
from covey.space.text_bounds import TOP
from covey.space.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TAGS,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    Type,
    decimal_type,
    type_to_arrow,
)

MIN64, MAX64 = -(2**63), 2**63 - 1
NINES = 10**38 - 1


def keys_of(column: pa.Array, type_: Type) -> list[Any]:
    keys, valid = encode_column(column, type_)
    return [key if is_valid else None for key, is_valid in zip(keys.tolist(), valid, strict=True)]


@pytest.mark.parametrize(
    ("type_", "arrow", "values", "keys"),
    [
        (TINYINT, pa.int8(), [-128, None, 127], [-128, None, 127]),
        (SMALLINT, pa.int16(), [-(2**15), 2**15 - 1], [-(2**15), 2**15 - 1]),
        (INT, pa.int32(), [-(2**31), 2**31 - 1], [-(2**31), 2**31 - 1]),
        (BIGINT, pa.int64(), [MIN64, 2**53 + 1, MAX64], [MIN64, 2**53 + 1, MAX64]),
        (BOOLEAN, pa.bool_(), [True, False, None], [1, 0, None]),
        (DATE, pa.date32(), [dt.date(1969, 12, 31), dt.date(1970, 1, 2)], [-1, 1]),
        (TIMESTAMP_NTZ, pa.timestamp("us"), [dt.datetime(1970, 1, 1, 0, 0, 1)], [10**6]),
        (TIMESTAMP_NTZ, pa.timestamp("ms"), [dt.datetime(1970, 1, 1, 0, 0, 1)], [10**6]),
        (STRING, pa.string(), ["", None, "\U0001f600"], ["", None, "\U0001f600"]),
        (decimal_type(5, 2), pa.decimal128(5, 2), [Decimal("-1.50"), None], [-150, None]),
        (
            decimal_type(38, 0),
            pa.decimal128(38, 0),
            [Decimal(-NINES), Decimal(NINES)],
            [-NINES, NINES],
        ),
        (decimal_type(38, 38), pa.decimal128(38, 38), [Decimal("-1e-38"), Decimal(0)], [-1, 0]),
        (decimal_type(19, 0), pa.decimal128(19, 0), [Decimal(-1), Decimal(2**63)], [-1, 2**63]),
    ],
)
def test_values_have_the_expected_keys(
    type_: Type, arrow: pa.DataType, values: list[Any], keys: Any
) -> None:
    assert keys_of(pa.array(values, arrow), type_) == keys


def test_days_and_moments_beyond_python_have_keys() -> None:
    days = pa.array([-(2**31), None, 2**31 - 1], pa.int32()).cast(pa.date32())
    assert keys_of(days, DATE) == [-(2**31), None, 2**31 - 1]
    moments = pa.array([MIN64, MAX64], pa.int64()).cast(pa.timestamp("us", "UTC"))
    assert keys_of(moments, TIMESTAMP) == [MIN64, MAX64]
    assert decode_key(2**31 - 1, DATE) == "2147483647 days from 1970-01-01"
    assert decode_key(MIN64, TIMESTAMP) == f"{MIN64} µs from 1970-01-01"


@pytest.mark.parametrize("precision", [9, 18, 19, 38])
def test_slices_of_decimals_keep_their_rows(precision: int) -> None:
    """Keys are read from the memory of Arrow, in which a slice begins at an offset."""
    column = pa.array([Decimal(n) for n in (7, -8)] + [None, Decimal(9)], pa.decimal128(precision))
    assert keys_of(column.slice(1), decimal_type(precision, 0)) == [-8, None, 9]
    assert keys_of(column.slice(4), decimal_type(precision, 0)) == []


EVERY_FLOAT = st.floats(width=32), st.floats()


@pytest.mark.parametrize(("dtype", "type_"), [(np.float32, FLOAT), (np.float64, DOUBLE)])
@given(st.data())
def test_float_keys_are_in_the_order_of_spark(dtype: Any, type_: Type, data: st.DataObject) -> None:
    """-0.0 equals 0.0, and every NaN equals every other NaN and comes after infinity."""
    number = EVERY_FLOAT[dtype is np.float64]
    a, b = data.draw(number), data.draw(number)
    x, y = encode_floats(np.array([a, b], dtype)).tolist()
    spark = [(np.isnan(v), 0.0 if np.isnan(v) else v) for v in (a, b)]
    assert (x < y, x == y) == (spark[0] < spark[1], spark[0] == spark[1])
    assert key_domain(type_).low <= x <= key_domain(type_).high
    np.testing.assert_array_equal(decode_floats(np.array([x, y]), type_), np.array([a, b], dtype))


@pytest.mark.parametrize(("dtype", "type_"), [(np.float32, FLOAT), (np.float64, DOUBLE)])
def test_float_keys_have_no_gaps(dtype: Any, type_: Type) -> None:
    numbers = np.array([-np.inf, -1.0, -0.0, 0.0, 1.0, np.finfo(dtype).max], dtype)
    with np.errstate(over="ignore"):
        following = np.nextafter(numbers, dtype(np.inf))
    assert (encode_floats(following) - encode_floats(numbers)).tolist() == [1] * len(numbers)
    ends = encode_floats(np.array([-np.inf, np.inf, np.nan, -np.nan], dtype)).tolist()
    whole = key_domain(type_)
    assert ends == [whole.low, whole.high - 1, whole.high, whole.high]


@pytest.mark.parametrize(
    ("type_", "low", "high"),
    [
        (TINYINT, -128, 127),
        (BIGINT, MIN64, MAX64),
        (DATE, -(2**31), 2**31 - 1),
        (BOOLEAN, 0, 1),
        (decimal_type(38, 10), -NINES, NINES),
        (STRING, "", TOP),
    ],
)
def test_domains_have_the_ends_of_their_types(type_: Type, low: Any, high: Any) -> None:
    assert (key_domain(type_).low, key_domain(type_).high) == (low, high)


def test_tags_have_no_keys() -> None:
    with pytest.raises(SchemaError, match="array<string> cannot be ordered"):
        key_domain(TAGS)


@given(st.sampled_from([DOUBLE, FLOAT, DATE, BOOLEAN, decimal_type(38, 3), INT, STRING]), st.data())
def test_a_decoded_key_has_the_same_key_again(type_: Type, data: st.DataObject) -> None:
    """`decode_key` returns readable values without loss."""
    whole = key_domain(type_)
    keys = st.text() if type_ == STRING else st.integers(whole.low, whole.high)
    key = data.draw(keys)
    read = decode_key(key, type_)
    if not isinstance(read, str) or type_ == STRING:
        assert keys_of(pa.array([read], type_to_arrow(type_)), type_) == [key]


@given(st.floats())
def test_one_double_has_the_same_key_as_in_an_array(number: float) -> None:
    assert encode_double(number) == encode_floats(np.array([number]))[0]
    assert decode_float(encode_double(number), DOUBLE) == number or np.isnan(number)


@given(st.sampled_from([FLOAT, DOUBLE]), st.data())
def test_one_key_has_the_same_number_as_in_an_array(type_: Type, data: st.DataObject) -> None:
    key = data.draw(st.integers(int(key_domain(type_).low), int(key_domain(type_).high)))
    expected = float(decode_floats(np.array([key], np.int64), type_)[0])
    assert decode_float(key, type_) == expected or np.isnan(expected)
    assert np.isnan(decode_float(key, type_)) == np.isnan(expected)
