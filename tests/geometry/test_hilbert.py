"""The curve visits every cell once in steps to neighbours, and ranges of a box are its cells."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey.errors import InvalidArgumentError
from covey.geometry.hilbert import decompose_boxes, encode_cells
from covey.geometry.range_sets import RangeSet

SHAPES = [(1, 1), (1, 5), (2, 1), (2, 4), (3, 3), (4, 2), (5, 2), (9, 1)]


def all_cells(d: int, bits: int) -> np.ndarray:
    """Return all cells of a grid."""
    return np.array(list(product(range(1 << bits), repeat=d)), np.int64)


def plain(lower: list[int], upper: list[int], bits: int) -> RangeSet:
    """Return the positions of a box, computed cell by cell."""
    sides = [range(low, high + 1) for low, high in zip(lower, upper, strict=True)]
    positions = encode_cells(list(product(*sides)), bits)
    return RangeSet.from_ranges(positions, positions)


@st.composite
def boxes(draw: st.DrawFn) -> tuple[list[int], list[int], int]:
    """Draw the lower and upper corner of a box, and the number of bits of a coordinate."""
    d, bits = draw(st.sampled_from([(1, 5), (2, 4), (3, 3), (4, 2), (5, 1)]))
    ends = st.tuples(st.integers(0, (1 << bits) - 1), st.integers(0, (1 << bits) - 1))
    sides = [sorted(draw(ends)) for _ in range(d)]
    return [low for low, _ in sides], [high for _, high in sides], bits


@pytest.mark.parametrize(("d", "bits"), SHAPES)
def test_every_cell_has_a_unique_position(d: int, bits: int) -> None:
    assert sorted(encode_cells(all_cells(d, bits), bits).tolist()) == list(range(1 << d * bits))


@pytest.mark.parametrize(("d", "bits"), SHAPES)
def test_neighbours_on_the_curve_are_neighbours_in_the_grid(d: int, bits: int) -> None:
    cells = all_cells(d, bits)
    cells_on_curve = cells[np.argsort(encode_cells(cells, bits))]
    assert (np.abs(np.diff(cells_on_curve, axis=0)).sum(1) == 1).all()


@given(boxes())
def test_ranges_are_the_cells_of_the_box(box: tuple[list[int], list[int], int]) -> None:
    lower, upper, bits = box
    assert decompose_boxes([lower], [upper], bits).row(0) == plain(lower, upper, bits)


@given(boxes(), st.integers(1, 6))
def test_bounded_ranges_contain_the_box(
    box: tuple[list[int], list[int], int], max_ranges: int
) -> None:
    lower, upper, bits = box
    exact, bounded = (
        plain(lower, upper, bits),
        decompose_boxes([lower], [upper], bits, max_ranges=max_ranges).row(0),
    )
    assert len(bounded) <= max_ranges
    assert len(exact - bounded) == 0
    if len(exact) <= max_ranges:
        assert bounded == exact


def test_the_smallest_gaps_are_filled() -> None:
    lower, upper, bits = [1, 1], [6, 5], 3
    exact = plain(lower, upper, bits)
    gaps = np.sort(exact.first[1:] - exact.last[:-1] - 1)
    for max_ranges in range(1, len(exact) + 1):
        bounded = decompose_boxes([lower], [upper], bits, max_ranges=max_ranges).row(0)
        assert bounded.count - exact.count == gaps[: len(exact) - max_ranges].sum()


def test_a_box_with_millions_of_ranges_is_bounded_without_listing_them() -> None:
    bounded = decompose_boxes([[1] * 6], [[1022] * 6], 10, max_ranges=8).row(0)
    assert len(bounded) <= 8
    cells = np.random.default_rng(1).integers(1, 1023, (1000, 6))
    assert bounded.contains(encode_cells(cells, 10)).all()


def test_a_box_in_a_batch_has_the_same_ranges_as_alone() -> None:
    random = np.random.default_rng(2)
    lower = random.integers(0, 12, (50, 3))
    upper = lower + random.integers(0, 5, (50, 3))
    batch = decompose_boxes(lower, upper, 4)
    for i in range(50):
        assert batch.row(i) == plain(lower[i].tolist(), upper[i].tolist(), 4)


def test_positions_use_62_bits() -> None:
    top = (1 << 31) - 1
    positions = encode_cells([[top, 0], [0, 0]], 31).tolist()
    assert positions == [(1 << 62) - 1, 0]
    assert list(decompose_boxes([[0, 0]], [[top, top]], 31).row(0)) == [(0, (1 << 62) - 1)]


def test_a_grid_without_dimensions_is_one_cell() -> None:
    cells = np.empty((2, 0), np.int64)
    assert encode_cells(cells, 4).tolist() == [0, 0]
    assert list(decompose_boxes(cells, cells, 4).row(1)) == [(0, 0)]


@pytest.mark.parametrize(
    ("lower", "upper", "bits", "max_ranges"),
    [
        ([[0, 0]], [[1, 4]], 2, 1),
        ([[-1]], [[1]], 2, 1),
        ([[2]], [[1]], 2, 1),
        ([[0]], [[1]], 2, 0),
        ([[0] * 9], [[1] * 9], 7, 1),
        ([[0]], [[1], [2]], 2, 1),
    ],
)
def test_corners_that_form_no_box_are_refused(
    lower: list[list[int]], upper: list[list[int]], bits: int, max_ranges: int
) -> None:
    with pytest.raises(InvalidArgumentError):
        decompose_boxes(lower, upper, bits, max_ranges=max_ranges)
