"""Full assignment from a plan of a sample: every subscriber is served, and no limit is exceeded."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey.plan import Problem, greedy, search
from covey.plan.capacity.full_assignment import assign_all
from covey.plan.capacity.leaf_quotas import (
    MAX_LEAF_SETS,
    assign_by_quotas,
    compute_leaf_quotas,
    find_frequent_leaf_sets,
    map_to_leaf_sets,
)
from covey.plan.capacity.max_flow import solve_max_flow
from covey.plan.groups.leaf_sets import (
    find_covering_leaves,
    find_leaves_within_delay,
    pack_leaf_sets,
    unpack_leaf_sets,
)
from covey.plan.model.filters import BrokerFilters
from covey.plan.workload.problems import ASSIGNMENT_PROBLEMS
from tests.plan.test_plan import VALID


@pytest.mark.parametrize("name", ["topics-even", "interests", "hot-spots"])
@pytest.mark.parametrize("degree", [None, 6])
def test_a_search_on_a_sample_serves_all_subscribers(name: str, degree: int | None) -> None:
    problem = replace(ASSIGNMENT_PROBLEMS[name](6_000, 30, degree=degree, seed=3), max_delay=1.0)
    start = greedy(problem)
    progress_values: list[float] = []
    found = search(
        problem, steps=200, sample_size=2_000, progress=lambda done, _: progress_values.append(done)
    )
    assert found.verify() == VALID
    assert found.bandwidth < start.bandwidth
    assert progress_values[-1] == pytest.approx(1.0)
    assert sorted(progress_values) == progress_values
    again = search(problem, found, steps=20, sample_size=2_000)
    assert again.verify() == VALID


def test_empty_filters_become_filters_for_all_subscribers() -> None:
    problem = ASSIGNMENT_PROBLEMS["topics"](500, 12, seed=3)
    none = BrokerFilters(np.zeros((12, 3, 2)), np.zeros((12, 3, 2)), np.zeros(12, np.int64))
    assert assign_all(problem, none).verify() == VALID


def test_filters_are_widened_if_they_cannot_carry_the_load() -> None:
    problem = replace(
        ASSIGNMENT_PROBLEMS["interests"](1_000, 10, seed=3),
        max_delay=9.0,
        target_load=1.0,
        max_load=1.0,
    )
    corner, side = np.zeros((10, 3, 2)), np.zeros((10, 3, 2))
    side[0, 0] = 1000.0  # one filter contains everything, the others nothing
    plan = assign_all(problem, BrokerFilters(corner, side, np.array([1] + [0] * 9)))
    assert plan.verify() == VALID
    assert plan.loads.tolist() == [100] * 10


@given(st.lists(st.lists(st.booleans(), min_size=70, max_size=70), min_size=1, max_size=5))
def test_leaf_sets_are_restored_from_bits(rows: list[list[bool]]) -> None:
    sets = np.array(rows)
    assert (unpack_leaf_sets(pack_leaf_sets(sets), 70) == sets).all()


@given(st.integers(0, 2**32 - 1))
def test_covering_leaves_are_within_the_delay_and_cover_the_box(seed: int) -> None:
    problem = ASSIGNMENT_PROBLEMS["topics"](60, 12, seed=seed % 1000)
    plan = greedy(problem.take(np.arange(30)))
    all_subscribers, leaves = problem.subscribers, problem.tree.leaves
    nearby_leaves = find_leaves_within_delay(problem)
    found = unpack_leaf_sets(
        find_covering_leaves(nearby_leaves, all_subscribers, plan.filters, leaves), len(leaves)
    )
    for row in range(len(all_subscribers)):
        low, high = all_subscribers.lower[row : row + 1], all_subscribers.upper[row : row + 1]
        covered = np.array([plan.filters.covers(leaf, low, high)[0] for leaf in leaves])
        could = covered & unpack_leaf_sets(nearby_leaves[row : row + 1], len(leaves))[0]
        assert not found[row][~could].any()
        assert found[row].any() == could.any()


@given(st.data())
def test_every_subscriber_gets_a_leaf_of_its_set(data: st.DataObject) -> None:
    count, leaves = data.draw(st.integers(1, 60)), 6
    random = np.random.default_rng(data.draw(st.integers(0, 99)))
    sets = random.random((count, leaves)) < 0.4
    bits = pack_leaf_sets(sets)
    frequent_sets = find_frequent_leaf_sets(bits[: count // 2], leaves)
    set_of = map_to_leaf_sets(bits, frequent_sets)
    assert ((set_of < 0) == ~sets.any(axis=1)).all()
    counts = np.bincount(set_of[set_of >= 0], minlength=len(frequent_sets))
    quotas = solve_max_flow(unpack_leaf_sets(frequent_sets, leaves), counts, np.full(leaves, 5))
    served = np.bincount(set_of[:7][set_of[:7] >= 0], minlength=len(frequent_sets))
    found = np.concatenate(
        [
            assign_by_quotas(sets_of_part, quotas, before)
            for sets_of_part, before in zip(
                np.split(set_of, [7]), (0 * served, served), strict=True
            )
        ]
    )
    placed = found >= 0
    assert placed.sum() == quotas.sum()
    assert sets[placed, found[placed]].all()
    assert (np.bincount(found[placed], minlength=leaves) <= 5).all()


def test_the_number_of_leaf_sets_is_bounded() -> None:
    sizes = []
    for count in (20_000, 200_000):
        problem: Problem = ASSIGNMENT_PROBLEMS["topics"](count, 100, seed=1)
        sets = find_frequent_leaf_sets(find_leaves_within_delay(problem), 100)
        sizes.append(len(sets))
        counts = np.bincount(
            map_to_leaf_sets(find_leaves_within_delay(problem), sets), minlength=len(sets)
        )
        assert compute_leaf_quotas(problem, sets, counts).sum() == count
    assert max(sizes) <= MAX_LEAF_SETS + 100
