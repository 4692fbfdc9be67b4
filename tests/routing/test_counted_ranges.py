"""`CountedRanges`, compared with a plain count for every position."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey.errors import InvalidArgumentError
from covey.geometry.range_sets import RangeSet
from covey.routing.counted_ranges import CountedRanges

TOP = 60
RANGE = st.tuples(st.integers(0, TOP), st.integers(0, 12)).map(lambda r: (r[0], r[0] + r[1]))
BATCHES = st.lists(st.tuples(st.booleans(), st.lists(RANGE, max_size=4)), max_size=12)


def integers(ranges: RangeSet) -> set[int]:
    return {i for first, last in ranges for i in range(first, last + 1)}


def fill_gaps_of_set(inside: set[int], gap: int) -> set[int]:
    """Return a set with the gaps of at most `gap` integers filled."""
    neighbours = pairwise(sorted(inside))
    return inside | {i for a, b in neighbours if b - a <= gap + 1 for i in range(a, b)}


@given(BATCHES, st.integers(0, 4))
def test_changes_are_exactly_the_difference(
    batches: list[tuple[bool, list[tuple[int, int]]]], gap: int
) -> None:
    coverage, living = CountedRanges(gap), Counter[tuple[int, int]]()
    known: set[int] = set()
    for adding, batch in batches:
        if adding:
            living.update(batch)
            added = coverage.add([a for a, _ in batch], [b for _, b in batch])
            assert not integers(added.ranges) & known
            known |= integers(added.ranges)
            assert added.covered_count + added.partial_count + added.new_count == len(batch)
        else:
            removed = list((living & Counter(list(living.elements())[::2])).elements())
            living.subtract(removed)
            back = integers(
                coverage.remove([a for a, _ in removed], [b for _, b in removed]).ranges
            )
            assert back <= known
            known -= back
        counts = Counter(i for a, b in living.elements() for i in range(a, b + 1))
        points = np.arange(TOP + 20)
        assert coverage.count_ranges(points).tolist() == [counts[p] for p in points.tolist()]
        assert integers(coverage.union) == set(counts)
        assert known == fill_gaps_of_set(set(counts), gap) == integers(coverage.advertised_ranges)
        assert set(points[coverage.contains(points)].tolist()) == known
        assert coverage.range_count == len(coverage.advertised_ranges)
        queried_ranges = [(a, b) for a in range(0, TOP, 7) for b in range(a, a + 20, 3)]
        assert coverage.covers(
            [a for a, _ in queried_ranges], [b for _, b in queried_ranges]
        ).tolist() == [set(range(a, b + 1)) <= known for a, b in queried_ranges]


@pytest.mark.parametrize("gap", [0, 3])
def test_many_ranges_split_and_join_blocks(gap: int) -> None:
    """Thousands of ranges are added at once, then removed in four batches until none is left."""
    random = np.random.default_rng(3)
    first = random.integers(0, 200_000, 6000)
    last = first + random.integers(0, 60, 6000)
    coverage = CountedRanges(gap)
    known = np.zeros(200_100, np.bool_)
    is_left = np.ones(len(first), np.bool_)
    for batch in np.array_split(np.arange(6000), 3):
        known[list(integers(coverage.add(first[batch], last[batch]).ranges))] = True
    for batch in np.array_split(random.permutation(6000), 4):
        withdrawn = coverage.remove(first[batch], last[batch]).ranges
        known[list(integers(withdrawn))] = False
        is_left[batch] = False
        expected = RangeSet.from_ranges(first[is_left], last[is_left])
        assert coverage.union == expected
        assert set(np.flatnonzero(known).tolist()) == integers(expected.fill_gaps(gap))
    assert coverage.range_count == 0


def test_memory_of_removed_ranges_is_reused() -> None:
    """Ten times the stored number of ranges is added and removed, and the tree does not grow."""
    coverage, first = CountedRanges(), np.arange(0, 400_000, 10)
    coverage.add(first, first + 3)
    size = len(coverage._tree.blocks)
    for _ in range(10):
        coverage.remove(first, first + 3)
        first = first + 1
        coverage.add(first, first + 3)
    assert len(coverage._tree.blocks) == size
    assert coverage.range_count == len(first)


def test_the_counts_of_an_addition_are_those_of_its_ranges() -> None:
    coverage = CountedRanges()
    first_addition = coverage.add([0, 20, 40], [9, 29, 49])
    assert (
        first_addition.covered_count,
        first_addition.partial_count,
        first_addition.new_count,
        first_addition.merged_count,
    ) == (0, 0, 3, 0)
    second_addition = coverage.add([2, 25, 30, 60, 0], [5, 32, 39, 60, 70])
    # covered; partial, extends [20, 29]; partial, joins it with [40, 49]; new; covers everything
    assert (
        second_addition.covered_count,
        second_addition.partial_count,
        second_addition.new_count,
        second_addition.merged_count,
    ) == (1, 3, 1, 2)
    assert list(coverage.advertised_ranges) == [(0, 70)]


def test_a_negative_gap_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="gap"):
        CountedRanges(-1)


def test_an_emptied_block_between_full_ones_is_reused() -> None:
    coverage, points = CountedRanges(), 4 * np.arange(64)
    coverage.add(points, points)
    coverage.add([6], [6])
    last = points[points >= 128][::-1]
    coverage.remove(last, last)
    assert list(coverage.add([128], [128]).ranges) == [(128, 128)]
    assert coverage.count_ranges(np.array([128, 129, 200, 6])).tolist() == [1, 0, 0, 1]


@given(st.integers(0, 2**32 - 1))
def test_ranges_of_whole_stretches_are_counted(seed: int) -> None:
    """There are enough ranges to fill blocks, and to empty some."""
    random, coverage = np.random.default_rng(seed), CountedRanges()
    counts = np.zeros(3_000, np.int64)
    living: list[tuple[int, int]] = []
    for _ in range(12):
        new = [
            (int(a), int(a) + int(random.integers(0, 2))) for a in random.integers(0, 2_998, 250)
        ]
        start = int(random.integers(0, 3_000))
        removed = [
            first_addition for first_addition in living if start <= first_addition[0] < start + 900
        ]
        for batch, by in ((new, 1), (removed, -1)):
            first, last = (np.array(ends, np.int64) for ends in zip(*batch, strict=True)) if (
                batch
            ) else (np.empty(0, np.int64), np.empty(0, np.int64))  # fmt: skip
            (coverage.add if by > 0 else coverage.remove)(first, last)
            for a, b in batch:
                counts[a : b + 1] += by
        living = [
            first_addition for first_addition in living if first_addition not in set(removed)
        ] + new
        assert coverage.count_ranges(np.arange(3_000)).tolist() == counts.tolist()


@pytest.mark.parametrize("gap", [0, 3])
def test_ranges_that_span_many_blocks_are_counted(gap: int) -> None:
    """Wide and narrow ranges come and go; every count is right after each batch."""
    random = np.random.default_rng(5)
    top, count = 60_000, 4000
    first = random.integers(0, top, count)
    is_wide = random.random(count) < 0.2
    last = np.minimum(first + random.integers(0, np.where(is_wide, top, 20)), top - 1)
    coverage, living = CountedRanges(gap), np.zeros(count, np.bool_)
    counts, known = np.zeros(top + 1, np.int64), np.zeros(top, np.bool_)
    for turn in range(60):
        rows = random.choice(count, 150, replace=False)
        rows = rows[living[rows] == (turn % 3 == 2 or turn > 50)]
        by = -1 if turn % 3 == 2 or turn > 50 else 1
        added = (coverage.add if by > 0 else coverage.remove)(first[rows], last[rows]).ranges
        living[rows] = by > 0
        np.add.at(counts, first[rows], by)
        np.add.at(counts, last[rows] + 1, -by)
        for a, b in added:
            assert (known[a : b + 1] == (by < 0)).all()
            known[a : b + 1] = by > 0
        assert (coverage.count_ranges(np.arange(top)) == np.cumsum(counts)[:-1]).all()
        assert (coverage.contains(np.arange(top)) == known).all()
        assert coverage.union == RangeSet.from_ranges(first[living], last[living])
