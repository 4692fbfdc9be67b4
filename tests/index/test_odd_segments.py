"""Segments of equal regions, unconstrained regions, extreme keys, and nulls everywhere."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from covey.geometry import Regions
from covey.geometry.regions import Constraints
from covey.geometry.scalars import Scalars
from covey.index import SegmentIndex
from covey.index.segment import index
from covey.language import parse
from covey.space import Events, Space
from covey.space.keys import decode_floats, key_domain
from covey.space.types import Type
from tests.index.same import check

NUMBER = Space.from_types({"x": pa.int64()})
MIXED = Space.from_types(
    {"x": pa.int64(), "f": pa.float64(), "s": pa.string(), "t": pa.list_(pa.string())}
)


def events_of(space: Space, columns: dict[str, list[Any]]) -> Events:
    types = {"x": pa.int64(), "f": pa.float64(), "s": pa.string(), "t": pa.list_(pa.string())}
    arrays = {name: pa.array(cells, types[name]) for name, cells in columns.items()}
    return Events.from_arrow(pa.table(arrays), space)


def test_five_thousand_equal_boxes_are_found() -> None:
    stored = parse(NUMBER, ["x BETWEEN 3 AND 5"] * 5000).regions
    segment = SegmentIndex.build(stored)
    query = parse(NUMBER, ["x = 4", "x BETWEEN 3 AND 5", "x > 4", "x < 3", "x > 0"]).regions
    check(segment, stored, query, events_of(NUMBER, {"x": [2, 3, 4, 5, 6, None]}))
    leaves = segment.to_arrays()["tree.1.children"]
    assert len(leaves) == 6, "equal boxes must fill the leaves"


@pytest.mark.parametrize("space", [NUMBER, MIXED])
def test_regions_without_any_constraint_are_found(space: Space) -> None:
    """The regions fill more than one leaf, and no code prunes any of them."""
    stored = Regions(space, 1500, {})
    cells = {a.name: [None] for a in space}
    events = events_of(space, {**cells, "x": [7]})
    check(SegmentIndex.build(stored), stored, parse(space, ["x > 3", "x IS NULL"]).regions, events)


def test_unconstrained_regions_among_others_are_found() -> None:
    texts = ["x > 3", "x IS NULL", "s = 'a'", "array_contains(t, 'a')", "x > 3 AND f < 2"]
    constrained = parse(MIXED, texts).regions
    stored = Regions.concat([constrained, Regions(MIXED, 3, {}), constrained])
    events = events_of(MIXED, {
        "x": [4, None, 3, 4], "f": [1.0, None, 2.0, None], "s": ["a", None, "", "b"],
        "t": [["a"], None, [], ["b", None]],
    })  # fmt: skip
    check(SegmentIndex.build(stored), stored, stored, events)


@pytest.mark.parametrize("kind", [pa.int64(), pa.timestamp("us"), pa.float64(), pa.float32()])
@pytest.mark.parametrize("nulls", [False, True])
def test_intervals_at_the_ends_of_a_type_are_found(kind: pa.DataType, nulls: bool) -> None:
    """The ends are the smallest and largest keys, zero, infinities and NaN, and adjacent keys."""
    space = Space.from_types({"x": kind})
    whole = key_domain(space["x"].type)
    extreme_keys = [
        *range(whole.low, whole.low + 3),
        -1,
        0,
        1,
        *range(whole.high - 2, whole.high + 1),
    ]
    ends = [(a, b) for a in extreme_keys for b in extreme_keys if a <= b] + [
        (whole.high, whole.low)
    ]
    lower, upper = np.array(ends, np.int64).T.copy()
    batch = Scalars.from_intervals(whole, lower, upper, nulls=nulls)
    constraints = {"x": Constraints(np.arange(len(ends)), batch)}
    stored = Regions.from_constraints(space, len(ends), constraints)[0]
    keys = np.array([*extreme_keys, 0], np.int64)
    if pa.types.is_floating(kind):
        cells = pa.array(decode_floats(keys, space["x"].type), kind, mask=np.arange(10) == 9)
    else:
        cells = pa.array(keys, mask=np.arange(10) == 9).cast(kind)
    events = Events.from_arrow(pa.table({"x": cells}), space)
    check(SegmentIndex.build(stored), stored, stored, events)
    check(SegmentIndex.build(stored, events), stored, Regions.from_events(events), events)


def test_events_with_only_nulls_are_matched() -> None:
    texts = [
        "x IS NULL", "x IS NOT NULL", "x IS NULL OR x > 5", "x IS NULL OR x < 5", "x <=> NULL",
        "s IS NULL", "s IS NULL OR s > 'b'", "t IS NULL", "f IS NULL AND s IS NULL",
        "x IS NULL AND t IS NULL AND array_contains(t, 'a')",
    ]  # fmt: skip
    stored = parse(MIXED, texts).regions
    three_nulls: list[Any] = [None, None, None]
    events = events_of(
        MIXED, {"x": three_nulls, "f": three_nulls, "s": three_nulls, "t": three_nulls}
    )
    check(SegmentIndex.build(stored), stored, stored, events)
    mixed_events = events_of(
        MIXED, {"x": [5, 6, 4], "f": three_nulls, "s": ["b", "c", None], "t": [[None], [], None]}
    )
    check(
        SegmentIndex.build(stored, events), stored, Regions.from_events(mixed_events), mixed_events
    )


@pytest.mark.parametrize("attributes", [1, 4, 5, 8, 9, 20])
def test_any_number_of_attributes_is_matched(attributes: int) -> None:
    random = np.random.default_rng(attributes)
    space = Space.from_types({f"x{k}": pa.int64() for k in range(attributes)})
    whole, count = key_domain(Type("bigint")), 400
    constraints = {}
    for k in range(attributes):
        rows = np.flatnonzero(random.random(count) < 3 / (attributes + 2))
        lower, upper = np.sort(random.integers(0, 30, (2, len(rows))), axis=0)
        batch = Scalars.from_intervals(whole, lower, upper, nulls=random.random(len(rows)) < 0.3)
        constraints[f"x{k}"] = Constraints(rows, batch)
    stored = Regions(space, count, constraints)
    cells = {
        f"x{k}": pa.array([*random.integers(0, 30, 40).tolist(), None]) for k in range(attributes)
    }
    events = Events.from_arrow(pa.table(cells), space)
    check(SegmentIndex.build(stored), stored, stored.take(np.arange(30)), events)


def test_many_query_regions_are_answered_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "_REGIONS_PER_BATCH", 2)
    stored = parse(NUMBER, [f"x > {i}" for i in range(7)]).regions
    check(SegmentIndex.build(stored), stored, stored, events_of(NUMBER, {"x": [3]}))


def test_regions_with_a_token_and_a_ball_are_found() -> None:
    types = {"x": pa.int64(), "t": pa.list_(pa.string()), "v": pa.list_(pa.float32())}
    space = Space.from_types(types, vectors={"v": 2})
    extreme_keys = "vector_l2_distance(v, array(0f, 0f)) < 1f"
    texts = [
        extreme_keys,
        *(f"array_contains(t, '{token}') AND x > 3 AND {extreme_keys}" for token in "abc"),
    ]
    stored = parse(space, texts).regions
    cells = {"x": [4, 5, 3], "t": [["a"], ["b", "a"], []], "v": [[0, 0], [0.5, 0], [9, 9]]}
    table = pa.table({name: pa.array(cells[name], type_) for name, type_ in types.items()})
    events = Events.from_arrow(table, space)
    check(SegmentIndex.build(stored), stored, stored, events)
    check(SegmentIndex.build(stored, events), stored, stored, events)


@pytest.mark.parametrize(
    ("type_", "first"), [(pa.string(), ""), (pa.decimal128(38, 0), Decimal(1 - 10**38))]
)
def test_the_first_value_of_a_type_is_found(type_: pa.DataType, first: object) -> None:
    """A single value at an end of its type is not an unbounded interval."""
    space = Space.from_types({"x": type_})
    literal = "''" if first == "" else f"{first}BD"
    regions = parse(space, [f"x = {literal}", f"x = {literal}"]).regions
    events = Events.from_arrow(pa.table({"x": pa.array([first, None], type_)}), space)
    assert set(SegmentIndex.build(regions).match(events)) == {(0, 0), (0, 1)}
