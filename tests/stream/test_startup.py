"""A store whose space differs from the configured one is refused, and the differences are named."""

from __future__ import annotations

import dataclasses

import pyarrow as pa
import pytest

from covey.errors import SchemaError
from covey.space import SessionSettings, Space
from covey.stream.startup import _check_space

STORED = Space.from_types({"a": pa.int64(), "b": pa.string()})


@pytest.mark.parametrize(
    ("types", "time_zone", "said"),
    [
        ({"a": pa.float64(), "b": pa.string()}, "UTC", ": column a was bigint and is double. "),
        ({"a": pa.int64(), "c": pa.string()}, "UTC",
         ": column b was string and is absent; column c was absent and is string. "),
        ({"b": pa.string(), "a": pa.int64()}, "UTC", ": the order of the columns was a, b. "),
        ({"a": pa.int64(), "b": pa.string()}, "Europe/Rome",
         ": spark.sql.session.timeZone was UTC and is Europe/Rome. Restore it, or"),
    ],
)  # fmt: skip
def test_each_difference_is_named_with_both_values(
    types: dict[str, pa.DataType], time_zone: str, said: str
) -> None:
    _check_space(STORED, STORED, "state/store")
    settings = dataclasses.replace(SessionSettings(), time_zone=time_zone)
    with pytest.raises(SchemaError) as refused:
        _check_space(STORED, Space.from_types(types, settings=settings), "state/store")
    assert said in str(refused.value)
