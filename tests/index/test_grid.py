"""Cells of a Hilbert grid never lose an event, for all types, nulls and lists."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey import Events, Space, parse
from covey.errors import InvalidArgumentError, SchemaError
from covey.index import BruteForceIndex
from covey.index.hilbert.grid import HilbertGrid, find_selective_attributes
from covey.testing.strategies import events, regions, spaces

SPACE = Space.from_types(
    {"x": pa.int32(), "y": pa.float64(), "s": pa.string(), "tags": pa.list_(pa.string())}
)


def points(**columns: list[object]) -> Events:
    arrays = {
        name: pa.array(values, {"x": pa.int32(), "y": pa.float64(), "s": pa.string()}[name])
        for name, values in columns.items()
    }
    return Events.from_arrow(pa.table(arrays), SPACE)


@given(st.data(), st.integers(1, 4), st.sampled_from([None, 1, 3]))
def test_the_cell_of_an_event_is_in_the_ranges_of_its_regions(
    data: st.DataObject, bits: int, max_ranges: int | None
) -> None:
    space = data.draw(spaces())
    stored, drawn_events = data.draw(regions(space)), data.draw(events(space))
    scalar = [a.name for a in space if a.type.is_scalar]
    chosen = data.draw(st.permutations(scalar))[: data.draw(st.integers(0, len(scalar)))]
    sample = data.draw(st.sampled_from([None, drawn_events]))
    grid = HilbertGrid.from_regions(stored, chosen, bits, sample=sample)
    rows, positions = (
        grid.find_ranges(stored, max_ranges=max_ranges),
        grid.find_positions(drawn_events),
    )
    for event, region in BruteForceIndex(stored).match(drawn_events):
        assert rows.row(region).contains(positions[[event]]).all()


@given(st.data(), st.integers(1, 3))
def test_the_box_of_a_cover_contains_the_box_of_the_covered_region(
    data: st.DataObject, bits: int
) -> None:
    space = data.draw(spaces())
    stored = data.draw(regions(space, max_regions=8))
    chosen = [a.name for a in space if a.type.is_scalar]
    lower, upper = HilbertGrid.from_regions(stored, chosen, bits).find_boxes(stored)
    for inner, outer in BruteForceIndex(stored).find_covering(stored):
        assert (lower[outer] <= lower[inner]).all()
        assert (upper[outer] >= upper[inner]).all()


def test_uniform_cells_have_equal_width() -> None:
    grid = HilbertGrid.uniform(SPACE, ["x", "y"], 2, {"x": (0, 255), "y": (0.0, 1.0)})
    drawn_events = points(
        x=[-5, 0, 63, 64, 255, 300, None], y=[-1.0, 0.24, 0.25, 0.75, 1.0, np.nan, None]
    )
    assert grid.find_cells(drawn_events).T.tolist() == [
        [0, 0, 0, 1, 3, 3, 0],
        [0, 0, 1, 3, 3, 3, 0],
    ]


def test_a_decimal_is_divided_by_its_value() -> None:
    space = Space.from_types({"p": pa.decimal128(30, 2)})
    grid = HilbertGrid.uniform(space, ["p"], 1, {"p": (0, 10)})
    column = pa.array([4, 6], pa.int64()).cast(pa.decimal128(30, 2))
    assert grid.find_cells(Events.from_arrow(pa.table({"p": column}), space)).tolist() == [[0], [1]]


def test_a_sample_gives_cells_with_equal_numbers_of_events() -> None:
    values = np.random.default_rng(4).exponential(size=4000)
    sample = points(y=values.tolist())
    grid = HilbertGrid.from_regions(parse(SPACE, ["y > 1"]).regions, ["y"], 3, sample=sample)
    assert np.bincount(grid.find_cells(sample)[:, 0]).tolist() == [500] * 8


def test_ends_of_regions_are_boundaries_of_cells() -> None:
    """With few regions there are no false candidates, not even for texts."""
    parsed = parse(SPACE, ["s BETWEEN 'b' AND 'd'", "s LIKE 'f%'", "x IN (3, 5)"])
    grid = HilbertGrid.from_regions(parsed.regions, ["s", "x"], 4)
    drawn_events = points(
        s=["a", "b", "d", "d\0", "f", "fz", "g", None], x=[0, 0, 0, 0, 3, 5, 6, 4]
    )
    rows, positions = grid.find_ranges(parsed.regions), grid.find_positions(drawn_events)
    found = [rows.row(i).contains(positions).tolist() for i in range(3)]
    assert found[0] == [False, True, True, False, False, False, False, False]
    assert found[1] == [False, False, False, False, True, True, False, False]
    # 4 is in the interval around the list
    assert found[2] == [False] * 4 + [True, True, False, True]


def test_a_region_that_admits_null_contains_cell_0() -> None:
    stored = parse(SPACE, ["x IS NULL", "x IS NULL OR x > 7", "x = 9"]).regions
    lower, upper = HilbertGrid.uniform(SPACE, ["x"], 3, {"x": (0, 7)}).find_boxes(stored)
    admits_null = (lower == 0)[:, 0].tolist()
    assert admits_null.count(True) == 2
    assert (upper[np.flatnonzero(admits_null)[0]] == 0).all()


def test_the_most_selective_attributes_admit_the_least() -> None:
    texts = [f"x BETWEEN {i} AND {i + 1} AND y > {i}" for i in range(50)]
    texts += ["s = 'only'", "array_contains(tags, 'a')"]
    stored = parse(SPACE, texts).regions
    assert find_selective_attributes(stored, 1) == ("x",)
    assert find_selective_attributes(stored, 9) == ("x", "y", "s")
    assert find_selective_attributes(parse(SPACE, ["true"]).regions, 2) == ()


def test_invalid_attributes_and_bounds_are_refused() -> None:
    stored = parse(SPACE, ["x = 1"]).regions
    with pytest.raises(SchemaError, match="not a scalar type"):
        HilbertGrid.from_regions(stored, ["tags"], 3)
    with pytest.raises(SchemaError, match="not a scalar type"):
        HilbertGrid.uniform(SPACE, ["tags"], 3, {"tags": (0, 1)})
    others = Events.from_arrow(pa.table({"x": [1]}), Space.from_types({"x": pa.int64()}))
    with pytest.raises(SchemaError, match="'x' is int in the grid and bigint in the events"):
        HilbertGrid.from_regions(stored, ["x"], 3).find_cells(others)
    with pytest.raises(InvalidArgumentError, match="at most 62 for all attributes"):
        HilbertGrid.from_regions(stored, ["x", "y", "s"], 21)
    with pytest.raises(InvalidArgumentError, match="bounds has no entry for 'y'"):
        HilbertGrid.uniform(SPACE, ["x", "y"], 3, {"x": (0, 1)})
    with pytest.raises(InvalidArgumentError, match="equal width"):
        HilbertGrid.uniform(SPACE, ["s"], 3, {"s": (0, 1)})
