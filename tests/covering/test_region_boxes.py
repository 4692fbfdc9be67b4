"""Boxes of codes say what regions say: of events, of each other, and back again."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from covey import Space, parse
from covey.covering.box_bounds import compute_code_edges
from covey.covering.region_boxes import RegionBoxes
from covey.geometry import Regions
from covey.geometry.relations import contains, covers
from covey.space import Events
from covey.testing.strategies import events, regions, spaces
from tests.covering.grid import parsed


def pairs(a: int, b: int) -> tuple[np.ndarray, np.ndarray]:
    one, other = np.indices((a, b))
    return one.ravel(), other.ravel()


@st.composite
def scalar_spaces(draw: st.DrawFn) -> Space:
    space = draw(spaces())
    return Space(
        tuple(a for a in space if a.type.is_scalar) or tuple(Space.from_types({"x": pa.int8()})),
        settings=space.settings,
    )


@given(st.data())
def test_a_box_holds_the_events_of_its_region(data: st.DataObject) -> None:
    space = data.draw(scalar_spaces())
    some, these = data.draw(regions(space, max_regions=12)), data.draw(events(space, max_events=12))
    boxes = RegionBoxes.from_regions(some)
    codes = boxes.encode_events(these)
    r, e = pairs(len(some), len(these))
    held = ((boxes.lower[r] <= codes[e]) & (codes[e] <= boxes.upper[r])).all(axis=1)
    right = contains(some, r, these, e)
    said = boxes.residual_ids[r] == 0
    assert (held[said] == right[said]).all()
    assert (held >= right).all()


@given(st.data())
def test_a_box_in_a_box_is_a_cover_unless_a_rest_says_otherwise(data: st.DataObject) -> None:
    space = data.draw(spaces())
    some = data.draw(regions(space, max_regions=12))
    boxes = RegionBoxes.from_regions(some)
    i, j = pairs(len(some), len(some))
    inside = (boxes.lower[i] <= boxes.lower[j]) & (boxes.upper[j] <= boxes.upper[i])
    says = inside.all(axis=1) & (
        (boxes.residual_ids[i] == 0) | (boxes.residual_ids[i] == boxes.residual_ids[j])
    )
    right = covers(some, i, some, j)
    scalar = all(space[name].type.is_scalar for name in some.constraints)
    both = (boxes.residual_ids[i] == 0) & (boxes.residual_ids[j] == 0)
    assert (says[both] == right[both]).all()
    if scalar:  # a ball may miss to cover itself by rounding
        assert (says <= right).all()


@given(st.data())
def test_regions_come_back_from_boxes(data: st.DataObject) -> None:
    space = data.draw(spaces())
    some = data.draw(regions(space, max_regions=12))
    boxes, rows = RegionBoxes.from_regions(some), np.arange(len(some))[::-1]
    back = boxes.to_regions(some, rows, boxes.lower[rows], boxes.upper[rows])
    again = RegionBoxes.from_regions(Regions.concat([some, back]))
    for part in (again.lower, again.upper, again.residual_ids):
        assert (part[rows] == part[len(some) :]).all()


def test_null_is_below_all_values_and_neighbours_leave_no_gap() -> None:
    boxes = RegionBoxes.from_regions(
        parsed(
            "x BETWEEN 1 AND 3",
            "x BETWEEN 4 AND 9",
            "x IS NULL",
            "x IS NOT NULL",
            "x >= 11",
            "y = 1",
        )
    )
    x = [axis.name for axis in boxes.axes].index("x")
    lower, upper = boxes.lower[:, x], boxes.upper[:, x]
    assert upper[0] + 1 == lower[1]
    assert upper[1] + 2 == lower[4]  # 10 is between
    assert (lower[2], upper[2]) == (-1, -1)
    assert (lower[3], upper[3]) == (0, boxes.axes[x].max_code)
    assert (lower[5], upper[5]) == (-1, boxes.axes[x].max_code)


def test_texts_are_neighbours_where_nothing_can_be_between() -> None:
    boxes = RegionBoxes.from_regions(
        parsed("s < 'b'", "s >= 'b' AND s <= 'c'", "s > 'c' AND s < 'd'", "s = 'e'")
    )
    (lower,), (upper,) = boxes.lower.T.reshape(1, -1), boxes.upper.T.reshape(1, -1)
    assert upper[0] + 1 == lower[1]
    assert upper[1] + 1 == lower[2]
    assert upper[2] + 2 < lower[3] + 1


def test_what_boxes_cannot_say_is_the_same_rest_where_it_is_the_same() -> None:
    space = Space.from_types(
        {"x": pa.int32(), "t": pa.list_(pa.string()), "v": pa.list_(pa.float32(), 2)}
    )
    texts = [
        "x > 1",
        "x IN (1, 5, 9)",
        "x IN (9, 1, 5) AND array_contains(t, 'a')",
        "array_contains(t, 'a') AND x IN (1, 5, 9)",
        "array_contains(t, 'a')",
        "vector_l2_distance(v, array(1f, 2f)) <= 1f",
        "vector_l2_distance(v, array(1f, 2f)) <= 1f AND x > 3",
        "vector_l2_distance(v, array(1f, 2f)) <= 2f",
    ]
    found = parse(space, texts)
    assert len(found.regions) == len(texts)
    rest = RegionBoxes.from_regions(found.regions).residual_ids.tolist()
    assert rest[0] == 0
    assert rest[2] == rest[3]
    assert rest[5] == rest[6]
    assert len(set(rest)) == 6


@given(st.data())
def test_lengths_are_never_nothing_and_one_in_all(data: st.DataObject) -> None:
    space = data.draw(scalar_spaces())
    some, these = data.draw(regions(space, max_regions=12)), data.draw(events(space, max_events=40))
    boxes = RegionBoxes.from_regions(some)
    codes = boxes.encode_events(these)
    for k, axis in enumerate(boxes.axes):
        for sample in (None, codes[:, k]):
            where = compute_code_edges(axis, sample)
            assert len(where) == axis.max_code + 3
            assert (np.diff(where) > 0).all()
            assert (where[0], where[-1]) == (0.0, 1.0)


def test_with_a_sample_length_is_where_events_are() -> None:
    boxes = RegionBoxes.from_regions(parsed(*(f"x = {n}" for n in range(0, 100, 10))))
    rows = pa.table({"x": pa.array([20] * 90 + list(range(60, 70)), pa.int32())})
    (axis,) = boxes.axes
    sample = boxes.encode_events(Events.from_arrow(rows, Space.from_types({"x": pa.int32()})))[:, 0]
    lengths = np.diff(compute_code_edges(axis, sample))
    assert lengths[boxes.lower[2, 0] + 1] > 0.7
    assert lengths[: boxes.lower[2, 0]].sum() < 0.1


def test_with_a_sample_texts_that_are_named_have_the_length_of_all_that_occur() -> None:
    names = [f"s{n:03}" for n in range(100)]
    boxes = RegionBoxes.from_regions(parsed(*(f"s = '{name}'" for name in names)))
    rows = pa.table({"s": names * 3})
    sample = boxes.encode_events(Events.from_arrow(rows, Space.from_types({"s": pa.string()})))[
        :, 0
    ]
    lengths = np.diff(compute_code_edges(boxes.axes[0], sample))
    assert lengths[boxes.lower[:, 0] + 1].sum() > 0.8
