"""Normal forms of constraints, and volumes of constraints without numbers."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from covey import Space, parse
from covey.geometry.relations import covers, uniform_volume
from covey.geometry.scalars import EXCEPT, ONLY, Scalars
from covey.space.keys import key_domain
from covey.space.ragged_array import RaggedArray
from covey.space.types import BIGINT, INT


def test_excluding_the_largest_bigint_does_not_overflow() -> None:
    top = np.array([2**63 - 1])
    batch = Scalars.from_intervals(
        key_domain(BIGINT),
        top,
        top,
        nulls=False,
        list_modes=np.array([EXCEPT], np.int8),
        lists=RaggedArray.from_rows([[2**63 - 1]], np.int64),
    )
    assert batch.is_empty.all()


def test_equal_sets_are_equal_rows() -> None:
    def row(listed: int, keys: list[int]) -> object:
        """Return the normal form of the interval from 0 to 2 with a list."""
        lists = RaggedArray.from_rows([keys], np.int64)
        return Scalars.from_intervals(
            key_domain(INT),
            np.array([0]),
            np.array([2]),
            nulls=False,
            list_modes=np.array([listed], np.int8),
            lists=lists,
        ).row(0)

    assert row(ONLY, [0, 2]) == row(EXCEPT, [1])


@pytest.mark.parametrize("text", ["f IS NULL", "f = 'NaN'"])
def test_a_region_of_null_or_nan_has_no_volume(text: str) -> None:
    space = Space.from_types({"f": pa.float64()})
    assert uniform_volume(parse(space, [text]).regions, {"f": (0.0, 1.0)}).tolist() == [0.0]


def test_regions_with_different_derived_attributes_are_compared() -> None:
    space, row = Space.from_types({"name": pa.string(), "x": pa.int32()}), np.array([0])
    a, b = (parse(space, [text]).regions for text in ("lower(name) = 'a'", "x = 1"))
    assert covers(a, row, b, row).tolist() == [False]
