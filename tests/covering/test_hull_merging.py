"""Filters cover their members, perfect ones add nothing, and costs stay within the budget."""

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
from tests.covering.grid import EVENTS, many, parsed, union, within

_COSTS = st.lists(
    st.lists(st.integers(0, 5).map(float), max_size=6).map(lambda row: np.array(row, np.float64)),
    max_size=5,
)


def filtered(
    some: Regions, unwanted: np.ndarray | None, limit: float, size: int = 8
) -> tuple[list[HullMerges], MergedHulls, Regions]:
    """All that groups propose within a limit, and the filters that it makes."""
    boxes = RegionBoxes.from_regions(some)
    groups = group_boxes(boxes, np.arange(len(some)), sample_points=unwanted, max_size=size)
    proposed = [propose_merges(group, unwanted, limit) for group in groups]
    hulls = apply_merges(boxes, np.arange(len(some)), proposed)
    firsts = hulls.members.values[hulls.members.offsets[:-1]]
    return proposed, hulls, boxes.to_regions(some, firsts, hulls.lower, hulls.upper)


def owners(hulls: MergedHulls) -> np.ndarray:
    return np.repeat(np.arange(len(hulls.members)), hulls.members.lengths)


@given(st.data(), st.sampled_from([0.0, 0.01, 0.3, np.inf]))
def test_a_filter_covers_its_members(data: st.DataObject, limit: float) -> None:
    some = data.draw(many())
    _, hulls, filters = filtered(some, None, limit)
    assert sorted(hulls.members.values.tolist()) == list(range(len(some)))
    assert covers(filters, owners(hulls), some, hulls.members.values).all()


@given(st.data())
def test_a_filter_covers_its_members_in_any_space(data: st.DataObject) -> None:
    space = data.draw(spaces())
    some = data.draw(regions(space, max_regions=16))
    _, hulls, filters = filtered(some, None, np.inf)
    rows, of = hulls.members.values, owners(hulls)
    scalar = (
        Regions(space, len(some), _scalars(some)),
        Regions(space, len(filters), _scalars(filters)),
    )
    assert covers(scalar[1], of, scalar[0], rows).all()
    both = RegionBoxes.from_regions(
        Regions.concat([filters, some])
    )  # of the same rest, so the same otherwise
    assert (both.residual_ids[of] == both.residual_ids[len(filters) + rows]).all()


def _scalars(some: Regions) -> dict:
    return {n: c for n, c in some.constraints.items() if some.space[n].type.is_scalar}


@given(many(40))
def test_perfect_merges_add_nothing(some: Regions) -> None:
    proposed, hulls, filters = filtered(some, None, 0.0)
    assert all(part.is_perfect.all() and not part.costs.any() for part in proposed)
    inside = within(some)
    for row, held in enumerate(within(filters)):
        assert held == set().union(*(inside[m] for m in hulls.members.row(row).tolist()))


@given(many(40), st.integers(0, 40))
def test_events_let_in_are_no_more_than_what_was_paid(some: Regions, limit: int) -> None:
    simple = some.take(np.flatnonzero(RegionBoxes.from_regions(some).residual_ids == 0))
    wanted = union(simple)
    unwanted = np.array(sorted(set(range(len(EVENTS))) - wanted), np.int64)
    points = RegionBoxes.from_regions(simple).encode_events(EVENTS.take(unwanted))
    proposed, _, filters = filtered(simple, points, float(limit))
    paid = sum(float(part.costs.sum()) for part in proposed)
    assert len(union(filters) - wanted) <= paid + 1e-9
    for part in proposed:
        assert part.costs.sum() <= limit


@given(_COSTS, st.integers(0, 20))
def test_the_cheapest_are_chosen_until_the_budget_ends(
    costs: list[np.ndarray], budget: float
) -> None:
    counts = count_affordable_merges(costs, budget).tolist()
    assert sum(part[:n].sum() for part, n in zip(costs, counts, strict=True)) <= budget
    dear = [(part[: i + 1].max(), g, i) for g, part in enumerate(costs) for i in range(len(part))]
    left, expected = budget, [0] * len(costs)
    for _, g, i in sorted(dear):
        left -= costs[g][i]
        if left < 0:
            break
        expected[g] = i + 1
    assert counts == expected


def test_neighbours_become_one_and_others_do_not() -> None:
    some = parsed("x BETWEEN 0 AND 2 AND y = 1", "x BETWEEN 3 AND 5 AND y = 1",
                  "x BETWEEN 3 AND 5 AND y = 3", "x BETWEEN 7 AND 9 AND y = 3",
                  "x BETWEEN 3 AND 5 AND y IN (2, 4, 9)", "x BETWEEN 6 AND 7 AND y IN (2, 4, 9)",
                  "x = 8 AND y IN (2, 4, 8)")  # fmt: skip
    _, hulls, filters = filtered(some, None, 0.0)
    members = {tuple(hulls.members.row(i).tolist()) for i in range(len(filters))}
    assert members == {(0, 1), (2,), (3,), (4, 5), (6,)}
    expected = parsed("x BETWEEN 0 AND 5 AND y = 1", "x BETWEEN 3 AND 7 AND y IN (2, 4, 9)")
    assert within(filters)[0] == within(expected)[0]
    joined = [tuple(hulls.members.row(i).tolist()) for i in range(len(filters))].index((4, 5))
    assert within(filters)[joined] == within(expected)[1]


def test_the_nearest_are_merged_first() -> None:
    some = parsed(*(f"x BETWEEN {n} AND {n + 4}" for n in (0, 6, 50, 100)))
    proposed, *_ = filtered(some, None, np.inf)
    assert list(
        zip(proposed[0].first_rows.tolist(), proposed[0].second_rows.tolist(), strict=True)
    ) == [(0, 1), (0, 2), (0, 3)]
    assert (np.diff(proposed[0].costs) > 0).all()
