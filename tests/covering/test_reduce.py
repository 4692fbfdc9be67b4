"""A reduction loses no event and reports which regions are redundant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from covey.covering import Reduction, ReductionLimits, RegionStatus, reduce_regions
from covey.covering.absorber_index import AbsorberIndex
from covey.covering.cover_pointers import find_covering_rows
from covey.covering.hull_merging import HullGroup, HullMerges, propose_merges
from covey.covering.region_boxes import RegionBoxes
from covey.covering.subsumption import Subsumption, find_subsumed
from covey.geometry import Regions
from covey.geometry.relations import covers
from covey.index import BruteForceIndex, SegmentIndex
from covey.space import Events
from covey.space.ragged_array import RaggedArray
from covey.testing.strategies import events, regions, spaces
from covey.workload import UniformBoxes
from tests.covering.grid import (
    EVENTS,
    find_all_events,
    find_events_by_region,
    parse_regions,
    region_batches,
)

_BUDGETS = st.sampled_from(
    [ReductionLimits(), ReductionLimits(0), ReductionLimits(64, 0.05), ReductionLimits(2, 1.0)]
)


def check(result: Reduction, stored: Regions) -> None:
    """Check the counts and statuses that every reduction must have."""
    summary = result.summary
    active = np.flatnonzero(result.statuses == RegionStatus.ACTIVE)
    assert summary.active == len(active)
    assert summary.filters == len(result.filters) == len(result.filter_members)
    assert sorted(result.filter_members.values.tolist()) == active.tolist()
    absorbing = result.statuses[result.absorbers.values]
    assert np.isin(absorbing, [RegionStatus.ACTIVE, RegionStatus.SUBSUMED]).all()
    absorbed = result.absorbers.lengths > 0
    assert absorbed.tolist() == (result.statuses != RegionStatus.ACTIVE).tolist()
    assert (result.statuses == RegionStatus.EQUAL).sum() == summary.equal
    assert (result.statuses == RegionStatus.COVERED).sum() == summary.covered
    assert (result.statuses == RegionStatus.SUBSUMED).sum() == summary.subsumed


@given(region_batches(40), _BUDGETS, st.booleans())
def test_the_union_stays_and_absorbers_contain_the_redundant_regions(
    stored: Regions, budget: ReductionLimits, with_sample: bool
) -> None:
    result = reduce_regions(
        stored, np.arange(len(stored)), sample=EVENTS if with_sample else None, limits=budget
    )
    check(result, stored)
    active = stored.take(np.flatnonzero(result.statuses == RegionStatus.ACTIVE))
    assert find_all_events(active) == find_all_events(stored) <= find_all_events(result.filters)
    inside = find_events_by_region(stored)
    for row in np.flatnonzero(result.absorbers.lengths).tolist():
        absorbing = result.absorbers.row(row).tolist()
        assert inside[row] <= set().union(*(inside[second] for second in absorbing))
    of = np.repeat(np.arange(len(result.filter_members)), result.filter_members.lengths)
    assert covers(result.filters, of, stored, result.filter_members.values).all()


@given(st.data(), _BUDGETS)
def test_no_event_is_lost_in_any_space(data: st.DataObject, budget: ReductionLimits) -> None:
    space = data.draw(spaces())
    stored, these = (
        data.draw(regions(space, max_regions=16)),
        data.draw(events(space, max_events=16)),
    )
    result = reduce_regions(stored, np.arange(len(stored)), sample=these, limits=budget)
    check(result, stored)
    active = stored.take(np.flatnonzero(result.statuses == RegionStatus.ACTIVE))
    matched, matched_by_active, admitted = (
        set(BruteForceIndex(part).match(these).query_rows.tolist())
        for part in (stored, active, result.filters)
    )
    assert matched == matched_by_active <= admitted


@given(region_batches(40))
def test_only_equal_and_covered_regions_are_redundant_without_a_budget(stored: Regions) -> None:
    result = reduce_regions(
        stored, np.arange(len(stored)), sample=EVENTS, limits=ReductionLimits(0, 0.0)
    )
    assert result.summary.subsumed == result.summary.imperfectly_merged == 0
    assert result.summary.undecided == result.summary.active
    assert find_all_events(result.filters) == find_all_events(stored)
    every = {
        (inner, outer)
        for inner, outer in BruteForceIndex(stored).find_covering(stored)
        if inner != outer
    }
    active = set(np.flatnonzero(result.statuses == RegionStatus.ACTIVE).tolist())
    for inner, outer in every:  # one of two regions that cover each other stays active
        assert not (inner in active and outer in active)


@given(region_batches(40), st.sampled_from([0.0, 0.02, 0.2]))
def test_the_budget_holds_for_sampled_and_other_events(stored: Regions, added: float) -> None:
    result = reduce_regions(
        stored, np.arange(len(stored)), sample=EVENTS, limits=ReductionLimits(32, added)
    )
    seen, unseen = (set(range(first, len(EVENTS), 2)) for first in range(2))
    false = find_all_events(result.filters) - find_all_events(stored)
    assert len(false & seen) <= added * len(seen)
    assert result.summary.false_share <= added
    assert result.summary.false_forwards == len(false & unseen)
    assert result.summary.matched_events == len(find_all_events(stored) & unseen)


def test_a_reduction_is_deterministic() -> None:
    load = UniformBoxes(2, 0.2)
    stored = load.generate_regions(0, 3000)
    sample = Events.from_arrow(load.generate_events(0, 1000), load.space)
    one, second = (
        reduce_regions(stored, np.arange(3000), sample=sample, limits=ReductionLimits(8, 0.01))
        for _ in range(2)
    )
    assert one.summary == second.summary
    assert min(one.summary.covered, one.summary.subsumed, one.summary.imperfectly_merged) > 0
    for mine, yours in (
        (one.absorbers, second.absorbers),
        (one.filter_members, second.filter_members),
    ):
        assert mine.offsets.tolist() == yours.offsets.tolist()
        assert mine.values.tolist() == yours.values.tolist()


class Portioned:
    """An executor that splits all rows and changes their order."""

    def find_covering_rows(self, index: SegmentIndex) -> np.ndarray:
        rows = np.arange(len(index))
        found = np.empty(len(index), np.int64)
        for stored in np.array_split(rows[::-1], 7):
            found[stored] = find_covering_rows(index, stored)
        return found

    def find_subsumed(self, absorber_index: AbsorberIndex, max_subtractions: int) -> Subsumption:
        boxes = absorber_index.boxes
        apart = replace(
            absorber_index, boxes=RegionBoxes((), boxes.lower, boxes.upper, boxes.residual_ids)
        )
        rows = np.arange(len(boxes))
        parts = [
            find_subsumed(apart, stored, max_subtractions) for stored in np.array_split(rows, 5)
        ]
        absorbers = RaggedArray.concat([part.absorbers for part in parts])
        return Subsumption(rows, absorbers, np.concatenate([p.is_witnessed for p in parts]))

    def propose_merges(
        self, groups: Sequence[HullGroup], unmatched_points: np.ndarray | None, max_cost: float
    ) -> list[HullMerges]:
        proposed = [propose_merges(group, unmatched_points, max_cost) for group in reversed(groups)]
        return proposed[::-1]


def test_the_result_does_not_depend_on_the_executor() -> None:
    load = UniformBoxes(2, 0.2)
    stored = load.generate_regions(0, 3000)
    sample = Events.from_arrow(load.generate_events(0, 1000), load.space)
    one, second = (
        reduce_regions(
            stored,
            np.arange(3000),
            sample=sample,
            limits=ReductionLimits(8, 0.01),
            executor=workers,
        )
        for workers in (None, Portioned())
    )
    assert one.summary == second.summary
    assert one.statuses.tolist() == second.statuses.tolist()
    assert one.absorbers.values.tolist() == second.absorbers.values.tolist()
    assert one.filter_members.values.tolist() == second.filter_members.values.tolist()
    assert list(second.seconds_by_step) == ["equality", "covering", "subsumption", "merging"]


def test_each_step_is_counted() -> None:
    stored = parse_regions(
        "x BETWEEN 0 AND 40 AND y = 1", "x BETWEEN 0 AND 40 AND y = 1",  # equal
        "x BETWEEN 1 AND 2 AND y = 1",  # covered
        "x BETWEEN 50 AND 90", "x >= 80 AND s > ''", "x BETWEEN 92 AND 99 AND s = 'a'",  # covered
        "x BETWEEN 70 AND 99 AND s = 'a'",  # subsumed
        "x BETWEEN 41 AND 49 AND y = 1",  # next to the first
    )  # fmt: skip
    result = reduce_regions(stored, np.array([0, 1, 1, 2, 3, 3, 4, 5]))
    summary = result.summary
    assert (summary.equal, summary.covered, summary.subsumed) == (1, 2, 1)
    assert (summary.perfectly_merged, summary.imperfectly_merged, summary.filters) == (1, 0, 3)
    assert (summary.subscriptions, summary.redundant) == (6, 2)
    assert [row.tolist() for row in map(result.absorbers.row, range(8))] == [
        [], [0], [0], [], [], [6], [3, 4], []
    ]  # fmt: skip


def test_a_reduction_of_no_regions_is_empty() -> None:
    none = parse_regions("x = 1").take(np.empty(0, np.int64))
    result = reduce_regions(none, np.empty(0, np.int64), sample=EVENTS)
    assert len(result.filters) == result.summary.false_forwards == 0


def test_a_region_that_is_the_whole_space_absorbs_all_others() -> None:
    result = reduce_regions(parse_regions("x > 1", "true", "y IN (1, 5, 9)"), np.arange(3))
    assert result.statuses.tolist() == [
        RegionStatus.COVERED,
        RegionStatus.ACTIVE,
        RegionStatus.COVERED,
    ]
    assert len(result.filters.constraints) == 0 or find_all_events(result.filters) == set(
        range(len(EVENTS))
    )
