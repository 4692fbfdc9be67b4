"""Region boxes contain the same events as regions, cover alike, and convert back to regions."""

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
from tests.covering.grid import parse_regions


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
def test_a_box_contains_the_events_of_its_region(data: st.DataObject) -> None:
    space = data.draw(scalar_spaces())
    stored, drawn_events = (
        data.draw(regions(space, max_regions=12)),
        data.draw(events(space, max_events=12)),
    )
    boxes = RegionBoxes.from_regions(stored)
    codes = boxes.encode_events(drawn_events)
    r, e = pairs(len(stored), len(drawn_events))
    held = ((boxes.lower[r] <= codes[e]) & (codes[e] <= boxes.upper[r])).all(axis=1)
    expected = contains(stored, r, drawn_events, e)
    said = boxes.residual_ids[r] == 0
    assert (held[said] == expected[said]).all()
    assert (held >= expected).all()


@given(st.data())
def test_a_box_inside_a_box_is_covered_if_its_residual_constraint_allows(
    data: st.DataObject,
) -> None:
    space = data.draw(spaces())
    stored = data.draw(regions(space, max_regions=12))
    boxes = RegionBoxes.from_regions(stored)
    i, j = pairs(len(stored), len(stored))
    inside = (boxes.lower[i] <= boxes.lower[j]) & (boxes.upper[j] <= boxes.upper[i])
    says = inside.all(axis=1) & (
        (boxes.residual_ids[i] == 0) | (boxes.residual_ids[i] == boxes.residual_ids[j])
    )
    expected = covers(stored, i, stored, j)
    scalar = all(space[name].type.is_scalar for name in stored.constraints)
    both = (boxes.residual_ids[i] == 0) & (boxes.residual_ids[j] == 0)
    assert (says[both] == expected[both]).all()
    if scalar:  # by rounding, a ball may not cover itself
        assert (says <= expected).all()


@given(st.data())
def test_boxes_convert_back_to_their_regions(data: st.DataObject) -> None:
    space = data.draw(spaces())
    stored = data.draw(regions(space, max_regions=12))
    boxes, rows = RegionBoxes.from_regions(stored), np.arange(len(stored))[::-1]
    back = boxes.to_regions(stored, rows, boxes.lower[rows], boxes.upper[rows])
    again = RegionBoxes.from_regions(Regions.concat([stored, back]))
    for part in (again.lower, again.upper, again.residual_ids):
        assert (part[rows] == part[len(stored) :]).all()


def test_null_is_below_all_values_and_adjacent_intervals_have_adjacent_codes() -> None:
    boxes = RegionBoxes.from_regions(
        parse_regions(
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


def test_text_intervals_are_adjacent_if_no_text_lies_between() -> None:
    boxes = RegionBoxes.from_regions(
        parse_regions("s < 'b'", "s >= 'b' AND s <= 'c'", "s > 'c' AND s < 'd'", "s = 'e'")
    )
    (lower,), (upper,) = boxes.lower.T.reshape(1, -1), boxes.upper.T.reshape(1, -1)
    assert upper[0] + 1 == lower[1]
    assert upper[1] + 1 == lower[2]
    assert upper[2] + 2 < lower[3] + 1


def test_equal_residual_constraints_have_equal_ids() -> None:
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
    predicates = parse(space, texts)
    assert len(predicates.regions) == len(texts)
    ids = RegionBoxes.from_regions(predicates.regions).residual_ids.tolist()
    assert ids[0] == 0
    assert ids[2] == ids[3]
    assert ids[5] == ids[6]
    assert len(set(ids)) == 6


@given(st.data())
def test_code_edges_increase_strictly_from_0_to_1(data: st.DataObject) -> None:
    space = data.draw(scalar_spaces())
    stored, drawn_events = (
        data.draw(regions(space, max_regions=12)),
        data.draw(events(space, max_events=40)),
    )
    boxes = RegionBoxes.from_regions(stored)
    codes = boxes.encode_events(drawn_events)
    for k, axis in enumerate(boxes.axes):
        for sample in (None, codes[:, k]):
            edges = compute_code_edges(axis, sample)
            assert len(edges) == axis.max_code + 3
            assert (np.diff(edges) > 0).all()
            assert (edges[0], edges[-1]) == (0.0, 1.0)


def test_edges_of_a_sample_give_length_to_codes_with_events() -> None:
    boxes = RegionBoxes.from_regions(parse_regions(*(f"x = {n}" for n in range(0, 100, 10))))
    rows = pa.table({"x": pa.array([20] * 90 + list(range(60, 70)), pa.int32())})
    (axis,) = boxes.axes
    sample = boxes.encode_events(Events.from_arrow(rows, Space.from_types({"x": pa.int32()})))[:, 0]
    lengths = np.diff(compute_code_edges(axis, sample))
    assert lengths[boxes.lower[2, 0] + 1] > 0.7
    assert lengths[: boxes.lower[2, 0]].sum() < 0.1


def test_texts_that_events_contain_have_most_of_the_length() -> None:
    names = [f"s{n:03}" for n in range(100)]
    boxes = RegionBoxes.from_regions(parse_regions(*(f"s = '{name}'" for name in names)))
    rows = pa.table({"s": names * 3})
    sample = boxes.encode_events(Events.from_arrow(rows, Space.from_types({"s": pa.string()})))[
        :, 0
    ]
    lengths = np.diff(compute_code_edges(boxes.axes[0], sample))
    assert lengths[boxes.lower[:, 0] + 1].sum() > 0.8
