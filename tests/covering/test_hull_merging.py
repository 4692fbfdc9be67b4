"""Hulls cover their members, perfect merges add no event, and costs stay within the budget."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from covey.covering.hull_merging import (
    HullMerges,
    MergedHulls,
    apply_merges,
    count_affordable_merges,
    group_boxes,
    propose_merges,
)
from covey.covering.region_boxes import RegionBoxes
from covey.geometry import Regions
from covey.geometry.relations import covers
from covey.testing.strategies import regions, spaces
from tests.covering.grid import (
    EVENTS,
    find_all_events,
    find_events_by_region,
    parse_regions,
    region_batches,
)

_COSTS = st.lists(
    st.lists(st.integers(0, 5).map(float), max_size=6).map(lambda row: np.array(row, np.float64)),
    max_size=5,
)


def merge_within_limit(
    stored: Regions, unwanted: np.ndarray | None, limit: float, size: int = 8
) -> tuple[list[HullMerges], MergedHulls, Regions]:
    """Propose all merges within a limit; return them, the hulls, and the regions of the hulls."""
    boxes = RegionBoxes.from_regions(stored)
    groups = group_boxes(boxes, np.arange(len(stored)), sample_points=unwanted, max_size=size)
    proposed = [propose_merges(group, unwanted, limit) for group in groups]
    hulls = apply_merges(boxes, np.arange(len(stored)), proposed)
    firsts = hulls.members.values[hulls.members.offsets[:-1]]
    return proposed, hulls, boxes.to_regions(stored, firsts, hulls.lower, hulls.upper)


def hull_of_members(hulls: MergedHulls) -> np.ndarray:
    return np.repeat(np.arange(len(hulls.members)), hulls.members.lengths)


@given(st.data(), st.sampled_from([0.0, 0.01, 0.3, np.inf]))
def test_a_hull_covers_its_members(data: st.DataObject, limit: float) -> None:
    stored = data.draw(region_batches())
    _, hulls, filters = merge_within_limit(stored, None, limit)
    assert sorted(hulls.members.values.tolist()) == list(range(len(stored)))
    assert covers(filters, hull_of_members(hulls), stored, hulls.members.values).all()


@given(st.data())
def test_a_hull_covers_its_members_in_any_space(data: st.DataObject) -> None:
    space = data.draw(spaces())
    stored = data.draw(regions(space, max_regions=16))
    _, hulls, filters = merge_within_limit(stored, None, np.inf)
    rows, of = hulls.members.values, hull_of_members(hulls)
    scalar = (
        Regions(space, len(stored), _scalars(stored)),
        Regions(space, len(filters), _scalars(filters)),
    )
    assert covers(scalar[1], of, scalar[0], rows).all()
    joined = RegionBoxes.from_regions(
        Regions.concat([filters, stored])
    )  # equal residual ids: equal residual constraints
    assert (joined.residual_ids[of] == joined.residual_ids[len(filters) + rows]).all()


def _scalars(stored: Regions) -> dict:
    return {n: c for n, c in stored.constraints.items() if stored.space[n].type.is_scalar}


@given(region_batches(40))
def test_perfect_merges_add_no_event(stored: Regions) -> None:
    proposed, hulls, filters = merge_within_limit(stored, None, 0.0)
    assert all(part.is_perfect.all() and not part.costs.any() for part in proposed)
    inside = find_events_by_region(stored)
    for row, held in enumerate(find_events_by_region(filters)):
        assert held == set().union(*(inside[m] for m in hulls.members.row(row).tolist()))


@given(region_batches(40), st.integers(0, 40))
def test_false_forwards_are_at_most_the_cost_of_the_merges(stored: Regions, limit: int) -> None:
    simple = stored.take(np.flatnonzero(RegionBoxes.from_regions(stored).residual_ids == 0))
    matching_events = find_all_events(simple)
    unwanted = np.array(sorted(set(range(len(EVENTS))) - matching_events), np.int64)
    points = RegionBoxes.from_regions(simple).encode_events(EVENTS.take(unwanted))
    proposed, _, filters = merge_within_limit(simple, points, float(limit))
    paid = sum(float(part.costs.sum()) for part in proposed)
    assert len(find_all_events(filters) - matching_events) <= paid + 1e-9
    for part in proposed:
        assert part.costs.sum() <= limit


@given(_COSTS, st.integers(0, 20))
def test_the_cheapest_merges_are_chosen_until_the_budget_ends(
    costs: list[np.ndarray], budget: float
) -> None:
    counts = count_affordable_merges(costs, budget).tolist()
    assert sum(part[:n].sum() for part, n in zip(costs, counts, strict=True)) <= budget
    dear = [(part[: i + 1].max(), g, i) for g, part in enumerate(costs) for i in range(len(part))]
    remaining, expected = budget, [0] * len(costs)
    for _, g, i in sorted(dear):
        remaining -= costs[g][i]
        if remaining < 0:
            break
        expected[g] = i + 1
    assert counts == expected


def test_adjacent_regions_merge_and_others_do_not() -> None:
    stored = parse_regions("x BETWEEN 0 AND 2 AND y = 1", "x BETWEEN 3 AND 5 AND y = 1",
                  "x BETWEEN 3 AND 5 AND y = 3", "x BETWEEN 7 AND 9 AND y = 3",
                  "x BETWEEN 3 AND 5 AND y IN (2, 4, 9)", "x BETWEEN 6 AND 7 AND y IN (2, 4, 9)",
                  "x = 8 AND y IN (2, 4, 8)")  # fmt: skip
    _, hulls, filters = merge_within_limit(stored, None, 0.0)
    members = {tuple(hulls.members.row(i).tolist()) for i in range(len(filters))}
    assert members == {(0, 1), (2,), (3,), (4, 5), (6,)}
    expected = parse_regions("x BETWEEN 0 AND 5 AND y = 1", "x BETWEEN 3 AND 7 AND y IN (2, 4, 9)")
    assert find_events_by_region(filters)[0] == find_events_by_region(expected)[0]
    joined = [tuple(hulls.members.row(i).tolist()) for i in range(len(filters))].index((4, 5))
    assert find_events_by_region(filters)[joined] == find_events_by_region(expected)[1]


def test_the_nearest_regions_are_merged_first() -> None:
    stored = parse_regions(*(f"x BETWEEN {n} AND {n + 4}" for n in (0, 6, 50, 100)))
    proposed, *_ = merge_within_limit(stored, None, np.inf)
    assert list(
        zip(proposed[0].first_rows.tolist(), proposed[0].second_rows.tolist(), strict=True)
    ) == [(0, 1), (0, 2), (0, 3)]
    assert (np.diff(proposed[0].costs) > 0).all()
