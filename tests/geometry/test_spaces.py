"""Regions and events are not compared if an attribute has another type in their spaces."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from covey import Events, SchemaError, Space, parse
from covey.geometry.balls import Ball
from covey.geometry.distances import Metric
from covey.index import BruteForceIndex
from covey.space.keys import encode_floats, key_domain
from covey.space.types import FLOAT


@pytest.mark.parametrize(
    ("type_", "other_type"),
    [
        (pa.decimal128(10, 2), pa.decimal128(10, 3)),
        (pa.float64(), pa.float32()),
        (pa.int32(), pa.date32()),
        (pa.string(), pa.float64()),
    ],
)
def test_attributes_with_different_types_are_not_compared(
    type_: pa.DataType, other_type: pa.DataType
) -> None:
    space, other_space = Space.from_types({"x": type_}), Space.from_types({"x": other_type})
    stored = BruteForceIndex(parse(space, ["x IS NOT NULL"]).regions)
    with pytest.raises(SchemaError, match="'x' is"):
        stored.match(Events.from_arrow(pa.table({"x": pa.nulls(1, other_type)}), other_space))
    with pytest.raises(SchemaError, match="'x' is"):
        stored.find_covering(parse(other_space, ["x IS NOT NULL"]).regions)


def test_doubles_are_not_narrowed_to_floats() -> None:
    with pytest.raises(SchemaError, match="cast the column to float"):
        Events.from_arrow(pa.table({"x": [0.1]}), Space.from_types({"x": pa.float32()}))


def test_events_with_a_vector_of_another_length_are_counted() -> None:
    space = Space.from_types({"v": pa.list_(pa.float32())}, vectors={"v": 2})
    column = pa.array([[1, 2], [1], None], pa.list_(pa.float32()))
    assert Events.from_arrow(pa.table({"v": column}), space).is_malformed.tolist() == [
        False,
        True,
        False,
    ]


def _key(number: float) -> int:
    """Return the key of a number as float32."""
    return int(encode_floats(np.array([number], np.float32))[0])


def test_balls_without_an_upper_end_cover_and_overlap_like_others() -> None:
    """`>=` admits a similarity of NaN, and so do both balls."""
    top = int(key_domain(FLOAT).high)
    wide = Ball(Metric.COSINE, (1.0, 0.0), _key(0.1), top)
    assert wide.covers(Ball(Metric.COSINE, (1.0, 0.001), _key(0.99), top))
    assert not Ball(Metric.COSINE, (1.0, 0.0), _key(0.9), top).overlaps(
        Ball(Metric.COSINE, (-1.0, 0.0), _key(0.9), _key(1.0))
    )
    assert Ball(Metric.L2, (0.0, 0.0), _key(1), top).covers(
        Ball(Metric.L2, (0.5, 0.0), _key(5), top)
    )
    assert not Ball(Metric.COSINE, (1e-20, 0.0), _key(0.5), top).covers(
        Ball(Metric.COSINE, (1.0, 0.0), _key(0.9), _key(1))
    )
