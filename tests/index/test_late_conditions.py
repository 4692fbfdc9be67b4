"""Regions with late conditions in indexes: undecided in matches, compared by their tokens."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from covey import Space, parse
from covey.geometry import Regions
from covey.geometry.regions import Constraints
from covey.geometry.relations import hull
from covey.geometry.tags import TagRule, Tags
from covey.index import BruteForceIndex, HilbertIndex, RandomProjectionIndex, SegmentIndex
from covey.language.late_conditions import LateCondition
from covey.space import Events
from covey.space.space import LATE

SPACE = Space.from_types({"x": pa.int32(), "tags": pa.list_(pa.string()), "y": pa.float64()})
COUNT = 300


def make_regions(seed: int = 5) -> Regions:
    """Return regions of which every third has one or two late conditions."""
    random = np.random.default_rng(seed)
    texts = []
    for low in random.integers(0, 20, COUNT).tolist():
        end = low + int(random.integers(0, 8))
        texts.append(
            f"x BETWEEN {low} AND {end}" if low % 2 else f"x < {end} AND array_contains(tags, 'a')"
        )
    regions = parse(SPACE, texts).regions
    rows = np.arange(0, len(regions), 3)
    tokens = [LateCondition("y < \0i", (i,)).token for i in range(4)]
    rules = [
        TagRule(groups=frozenset(frozenset([tokens[i]]) for i in random.integers(0, 4, 2).tolist()))
        for _ in rows
    ]
    late = Constraints(rows, Tags.from_rules(rules))
    return replace(regions, constraints={**regions.constraints, LATE: late})


EVENTS = Events.from_arrow(
    pa.table(
        {
            "x": pa.array([*range(24), None], pa.int32()),
            "tags": pa.array([["a"], ["b"], None, [], ["b", "a"]] * 5),
            "y": pa.array([0.0] * 25),
        }
    ),
    SPACE,
)


@pytest.mark.parametrize("is_reopened", [False, True])
def test_a_segment_agrees_with_brute_force(is_reopened: bool) -> None:
    regions = make_regions()
    index, oracle = SegmentIndex.build(regions), BruteForceIndex(regions)
    if is_reopened:
        index = SegmentIndex.from_arrays(SPACE, index.to_arrays())
    found, expected = index.match(EVENTS), oracle.match(EVENTS)
    assert sorted(found) == sorted(expected)
    assert sorted(found.undecided) == sorted(expected.undecided)
    assert len(found) > 100 < len(found.undecided)
    assert not {row for _, row in found} & set(range(0, COUNT, 3))
    for method in ("find_covering", "find_covered", "find_overlapping"):
        pairs = getattr(index, method)(regions)
        assert sorted(pairs) == sorted(getattr(oracle, method)(regions)), method
    assert index.constrained_attributes == {"x", "tags"}


def test_the_late_conditions_of_undecided_regions_are_restored() -> None:
    regions = make_regions()
    index = SegmentIndex.build(regions)
    rows = np.unique(index.match(EVENTS).undecided.stored_rows).astype(np.int64)
    conditions, stored = index.take_late_conditions(rows), regions.constraints[LATE]
    assert index.late_vocabulary is not None
    tokens = np.array(index.late_vocabulary.tokens, object)
    batch_rows, _ = stored.locate_rows(rows)
    assert [
        {frozenset([token]) for token in tokens[row]}
        for row in map(conditions.row, range(len(rows)))
    ] == [
        {*stored.batch.row(int(i)).groups}  # type: ignore[union-attr]
        for i in batch_rows
    ]


def test_large_batches_have_all_undecided_pairs() -> None:
    regions = make_regions()
    rows = np.tile(np.arange(len(EVENTS)), 1_500)
    found = SegmentIndex.build(regions).match(EVENTS.take(rows))
    few = SegmentIndex.build(regions).match(EVENTS)
    assert len(found.undecided) == 1_500 * len(few.undecided)
    assert len(found.possible_pairs) == len(found) + len(found.undecided)


@pytest.mark.parametrize("kind", [HilbertIndex, RandomProjectionIndex])
def test_other_indexes_report_them_as_undecided_too(kind: type) -> None:
    regions = make_regions()
    late = regions.constraints[LATE]
    numeric = parse(SPACE, [f"x BETWEEN {i} AND {i + 9}" for i in range(COUNT)]).regions
    regions = replace(numeric, constraints={**numeric.constraints, LATE: late})
    found, expected = kind.build(regions).match(EVENTS), BruteForceIndex(regions).match(EVENTS)
    assert sorted(found) == sorted(expected)
    assert sorted(found.undecided) == sorted(expected.undecided)


def test_a_hull_requires_only_common_conditions() -> None:
    regions = make_regions()
    merged = hull(regions, np.zeros(len(regions), np.int64))
    assert LATE not in merged.constraints
    late_rows = np.arange(0, COUNT, 3)
    twice = regions.take(np.array([late_rows[0], late_rows[0]]))
    same = hull(twice, np.zeros(2, np.int64))
    assert same.constraints[LATE].batch.row(0) == twice.constraints[LATE].batch.row(0)  # type: ignore[union-attr]
