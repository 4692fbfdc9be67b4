"""Unions of few boxes, compared with counting their cells one by one."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey.plan.groups.event_grid import EventGrid
from covey.plan.kernels.box_unions import covers_box, insert_box, measure_box, measure_union
from covey.plan.kernels.rectangle_fit import fit_rectangles, keep_maximal

TOP = 5


@st.composite
def some_boxes(draw: st.DrawFn, d: int, least: int, most: int) -> np.ndarray:
    """Draw boxes of cells, some of them without volume."""
    count = draw(st.integers(least, most))
    ends = draw(
        st.lists(
            st.lists(
                st.tuples(st.integers(0, TOP), st.integers(0, TOP)).map(sorted),
                min_size=d,
                max_size=d,
            ),
            min_size=count,
            max_size=count,
        )
    )
    boxes = np.array(ends, np.int32).reshape(count, d, 2)
    return np.concatenate([boxes[:, :, 0], boxes[:, :, 1]], axis=1)


def cells_of(boxes: np.ndarray) -> set[tuple[int, ...]]:
    """Return all cells of the boxes."""
    d = boxes.shape[1] // 2
    return {
        cell
        for box in boxes
        for cell in product(*(range(a, b) for a, b in zip(box[:d], box[d:], strict=True)))
    }


def scratch(most: int, d: int) -> np.ndarray:
    return np.empty((5, most + 1, 2 * d), np.int32)


@given(st.data(), st.integers(1, 3))
def test_volumes_equal_counted_cells(data: st.DataObject, d: int) -> None:
    boxes = data.draw(some_boxes(d, 1, 4))
    axes = np.cumsum(data.draw(st.lists(st.integers(1, 9), min_size=TOP + 1, max_size=TOP + 1)))
    cells = EventGrid((axes.astype(np.float64),) * d)
    sizes = np.diff(axes)
    expected = sum(float(np.prod(sizes[list(cell)])) for cell in cells_of(boxes))
    found = measure_union(boxes, len(boxes), cells.volume_measure, scratch(8, d)[0])
    assert found == pytest.approx(expected)


@given(st.data(), st.integers(1, 3))
def test_events_are_counted_once_and_also_on_edges(data: st.DataObject, d: int) -> None:
    boxes = data.draw(some_boxes(d, 1, 3))
    halves = st.integers(-2, 2 * TOP + 2).map(lambda n: n / 2)
    events = np.array(
        data.draw(st.lists(st.lists(halves, min_size=d, max_size=d), min_size=1, max_size=12))
    )
    cells = EventGrid((np.arange(TOP + 1.0),) * d)
    is_in = [
        any(all(box[:d] <= event) and all(event <= box[d:]) for box in boxes) for event in events
    ]
    found = measure_union(boxes, len(boxes), cells.build_count_measure(events), scratch(8, d)[0])
    assert found == pytest.approx(np.mean(is_in))


@given(st.data(), st.integers(1, 3))
def test_a_union_covers_a_box_if_it_covers_all_of_its_cells(data: st.DataObject, d: int) -> None:
    boxes, (box,) = data.draw(some_boxes(d, 1, 4)), data.draw(some_boxes(d, 1, 1))
    inside = cells_of(box[None])
    in_one = any((b[:d] <= box[:d]).all() and (b[d:] >= box[d:]).all() for b in boxes)
    expected = in_one or (bool(inside) and inside <= cells_of(boxes))
    assert covers_box(boxes, len(boxes), box, scratch(8, d)[0]) == expected


@given(st.data(), st.integers(1, 2), st.integers(1, 3))
def test_an_inserted_box_and_all_earlier_boxes_are_covered(
    data: st.DataObject, d: int, most: int
) -> None:
    boxes = np.zeros((most, 2 * d), np.int32)
    given_boxes, (box,) = data.draw(some_boxes(d, 0, most)), data.draw(some_boxes(d, 1, 1))
    boxes[: len(given_boxes)] = given_boxes
    measure = EventGrid((np.arange(TOP + 1.0),) * d).volume_measure
    buffers = scratch(most, d)
    count, volume = insert_box(
        boxes, len(given_boxes), box, measure, buffers[0], buffers[1], buffers[3]
    )
    if not count:
        assert covers_box(boxes, len(given_boxes), box, buffers[3])
        return
    assert count <= most
    assert volume == pytest.approx(len(cells_of(buffers[0, :count])))
    for member in (*given_boxes, box):
        assert covers_box(buffers[0], count, member, buffers[3])


@given(st.data(), st.integers(1, 2), st.integers(1, 3))
def test_fitted_rectangles_cover_all_boxes(data: st.DataObject, d: int, most: int) -> None:
    boxes = data.draw(some_boxes(d, 1, 12))
    measure = EventGrid((np.arange(TOP + 1.0),) * d).volume_measure
    chosen = np.arange(len(boxes))
    count = keep_maximal(boxes, chosen, len(boxes))
    maximal_boxes = boxes[chosen[:count]]
    for box in boxes:
        assert any((k[:d] <= box[:d]).all() and (k[d:] >= box[d:]).all() for k in maximal_boxes)
    out = np.empty((most, 2 * d), np.int32)
    found, volume = fit_rectangles(boxes, chosen, count, measure, np.inf, 1, out, scratch(most, d))
    assert 1 <= found <= most
    assert volume == pytest.approx(len(cells_of(out[:found])))
    for box in boxes:
        assert covers_box(out, found, box, scratch(8, d)[0])
    if count <= most:
        assert volume <= len(cells_of(boxes)) + 1e-9
    out[:] = -1
    least = fit_rectangles(boxes, chosen, count, measure, volume, 1, out, scratch(most, d))
    assert least == (0, volume)
    assert (out == -1).all()


def test_measure_box_equals_its_volume() -> None:
    measure = EventGrid((np.array([0.0, 2.0, 5.0]), np.array([1.0, 2.0, 4.0]))).volume_measure
    assert measure_box(np.array([0, 1, 2, 2], np.int32), measure) == 10.0
