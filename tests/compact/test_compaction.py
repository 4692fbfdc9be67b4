"""A compaction loses no event, and says what it removed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from covey.compact import Budget, Compaction, Standing, compact
from covey.compact.absorbing import Absorbing
from covey.compact.boxes import Boxes
from covey.compact.covering import covers_of
from covey.compact.merging import Group, Merges, merges
from covey.compact.subsumption import Subsumption, subsumed
from covey.geometry import Regions
from covey.geometry.relations import covers
from covey.index import Scan, Segment
from covey.space import Events
from covey.space.ragged import Ragged
from covey.testing.strategies import events, regions, spaces
from covey.workload import UniformBoxes
from tests.compact.grid import EVENTS, many, parsed, union, within

_BUDGETS = st.sampled_from([Budget(), Budget(0), Budget(64, 0.05), Budget(2, 1.0)])


def check(result: Compaction, some: Regions) -> None:
    """What holds of every compaction."""
    summary = result.summary
    active = np.flatnonzero(result.standing == Standing.ACTIVE)
    assert summary.active == len(active)
    assert summary.filters == len(result.filters) == len(result.members)
    assert sorted(result.members.values.tolist()) == active.tolist()
    by = result.standing[result.absorbers.values]
    assert np.isin(by, [Standing.ACTIVE, Standing.SUBSUMED]).all()
    absorbed = result.absorbers.lengths > 0
    assert absorbed.tolist() == (result.standing != Standing.ACTIVE).tolist()
    assert (result.standing == Standing.EQUAL).sum() == summary.equal
    assert (result.standing == Standing.COVERED).sum() == summary.covered
    assert (result.standing == Standing.SUBSUMED).sum() == summary.subsumed


@given(many(40), _BUDGETS, st.booleans())
def test_the_union_stays_and_absorbers_hold_what_they_absorb(
    some: Regions, budget: Budget, with_sample: bool
) -> None:
    result = compact(some, np.arange(len(some)), EVENTS if with_sample else None, budget)
    check(result, some)
    active = some.take(np.flatnonzero(result.standing == Standing.ACTIVE))
    assert union(active) == union(some) <= union(result.filters)
    inside = within(some)
    for row in np.flatnonzero(result.absorbers.lengths).tolist():
        by = result.absorbers.row(row).tolist()
        assert inside[row] <= set().union(*(inside[other] for other in by))
    of = np.repeat(np.arange(len(result.members)), result.members.lengths)
    assert covers(result.filters, of, some, result.members.values).all()


@given(st.data(), _BUDGETS)
def test_no_event_is_lost_in_any_space(data: st.DataObject, budget: Budget) -> None:
    space = data.draw(spaces())
    some, these = data.draw(regions(space, 16)), data.draw(events(space, 16))
    result = compact(some, np.arange(len(some)), these, budget)
    check(result, some)
    active = some.take(np.flatnonzero(result.standing == Standing.ACTIVE))
    wanted, kept, let_in = (
        set(Scan(part).matching(these).asked.tolist()) for part in (some, active, result.filters)
    )
    assert wanted == kept <= let_in


@given(many(40))
def test_without_a_budget_only_equal_and_covered_ones_go(some: Regions) -> None:
    result = compact(some, np.arange(len(some)), EVENTS, Budget(0, 0.0))
    assert result.summary.subsumed == result.summary.imperfectly_merged == 0
    assert result.summary.undecided == result.summary.active
    assert union(result.filters) == union(some)
    every = {(inner, outer) for inner, outer in Scan(some).covering(some) if inner != outer}
    active = set(np.flatnonzero(result.standing == Standing.ACTIVE).tolist())
    for inner, outer in every:  # of two that cover each other one stays
        assert not (inner in active and outer in active)


@given(many(40), st.sampled_from([0.0, 0.02, 0.2]))
def test_the_budget_is_kept_on_events_seen_and_unseen(some: Regions, added: float) -> None:
    result = compact(some, np.arange(len(some)), EVENTS, Budget(32, added))
    seen, unseen = (set(range(first, len(EVENTS), 2)) for first in range(2))
    false = union(result.filters) - union(some)
    assert len(false & seen) <= added * len(seen)
    assert result.summary.false_share <= added
    assert result.summary.false_forwards == len(false & unseen)
    assert result.summary.wanted == len(union(some) & unseen)


def test_it_is_the_same_every_time() -> None:
    load = UniformBoxes(2, 0.2)
    some = load.regions(0, 3000)
    sample = Events.from_arrow(load.events(0, 1000), load.space)
    one, other = (compact(some, np.arange(3000), sample, Budget(8, 0.01)) for _ in range(2))
    assert one.summary == other.summary
    assert min(one.summary.covered, one.summary.subsumed, one.summary.imperfectly_merged) > 0
    for mine, yours in ((one.absorbers, other.absorbers), (one.members, other.members)):
        assert mine.offsets.tolist() == yours.offsets.tolist()
        assert mine.values.tolist() == yours.values.tolist()


class Portioned:
    """Workers that never see all rows together, nor in their order."""

    def covers(self, index: Segment) -> np.ndarray:
        rows = np.arange(len(index))
        found = np.empty(len(index), np.int64)
        for some in np.array_split(rows[::-1], 7):
            found[some] = covers_of(index, some)
        return found

    def subsumed(self, absorbing: Absorbing, budget: int) -> Subsumption:
        boxes = absorbing.boxes
        apart = replace(absorbing, boxes=Boxes((), boxes.lower, boxes.upper, boxes.rest))
        rows = np.arange(len(boxes))
        parts = [subsumed(apart, some, budget) for some in np.array_split(rows, 5)]
        absorbers = Ragged.concat([part.absorbers for part in parts])
        return Subsumption(rows, absorbers, np.concatenate([p.is_witnessed for p in parts]))

    def merges(
        self, groups: Sequence[Group], unwanted: np.ndarray | None, limit: float
    ) -> list[Merges]:
        return [merges(group, unwanted, limit) for group in reversed(groups)][::-1]


def test_it_is_the_same_whoever_works() -> None:
    load = UniformBoxes(2, 0.2)
    some = load.regions(0, 3000)
    sample = Events.from_arrow(load.events(0, 1000), load.space)
    one, other = (
        compact(some, np.arange(3000), sample, Budget(8, 0.01), workers)
        for workers in (None, Portioned())
    )
    assert one.summary == other.summary
    assert one.standing.tolist() == other.standing.tolist()
    assert one.absorbers.values.tolist() == other.absorbers.values.tolist()
    assert one.members.values.tolist() == other.members.values.tolist()
    assert list(other.seconds) == ["equality", "covering", "subsumption", "merging"]


def test_each_step_is_counted() -> None:
    some = parsed(
        "x BETWEEN 0 AND 40 AND y = 1", "x BETWEEN 0 AND 40 AND y = 1",  # equal
        "x BETWEEN 1 AND 2 AND y = 1",  # covered
        "x BETWEEN 50 AND 90", "x >= 80 AND s > ''", "x BETWEEN 92 AND 99 AND s = 'a'",  # covered
        "x BETWEEN 70 AND 99 AND s = 'a'",  # subsumed
        "x BETWEEN 41 AND 49 AND y = 1",  # beside the first
    )  # fmt: skip
    result = compact(some, np.array([0, 1, 1, 2, 3, 3, 4, 5]))
    summary = result.summary
    assert (summary.equal, summary.covered, summary.subsumed) == (1, 2, 1)
    assert (summary.perfectly_merged, summary.imperfectly_merged, summary.filters) == (1, 0, 3)
    assert (summary.subscriptions, summary.passive) == (6, 2)
    assert [row.tolist() for row in map(result.absorbers.row, range(8))] == [
        [], [0], [0], [], [], [6], [3, 4], []
    ]  # fmt: skip


def test_nothing_is_compacted_to_nothing() -> None:
    none = parsed("x = 1").take(np.empty(0, np.int64))
    result = compact(none, np.empty(0, np.int64), EVENTS)
    assert len(result.filters) == result.summary.false_forwards == 0


def test_the_whole_space_absorbs_all() -> None:
    result = compact(parsed("x > 1", "true", "y IN (1, 5, 9)"), np.arange(3))
    assert result.standing.tolist() == [Standing.COVERED, Standing.ACTIVE, Standing.COVERED]
    assert len(result.filters.constraints) == 0 or union(result.filters) == set(range(len(EVENTS)))
