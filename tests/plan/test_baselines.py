"""Plans that look at one thing: they do well at that."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from covey.plan import assign_nearest, balance_loads, greedy
from covey.plan.capacity.max_flow import find_min_load_factor, solve_max_flow
from covey.plan.groups.demand_groups import DemandGroups
from covey.plan.groups.leaf_sets import find_leaves_within_delay, unpack_leaf_sets
from covey.plan.workload.problems import ASSIGNMENT_PROBLEMS
from tests.plan.test_plan import VALID


@pytest.mark.parametrize("name", ["topics", "interests"])
@pytest.mark.parametrize("degree", [None, 6])
def test_they_keep_to_filters_and_have_more_bandwidth(name: str, degree: int | None) -> None:
    problem = replace(ASSIGNMENT_PROBLEMS[name](3_000, 20, degree=degree, seed=2), max_delay=1.0)
    least = greedy(problem).bandwidth
    for plan in (
        assign_nearest(problem),
        assign_nearest(problem, with_capacity=False),
        balance_loads(problem),
    ):
        found = plan.verify()
        assert found == replace(VALID, too_far=found.too_far, over_capacity=found.over_capacity)
        assert plan.bandwidth > least
    assert assign_nearest(problem).verify().over_capacity == 0
    assert balance_loads(problem).verify() == VALID
    assert balance_loads(problem).load_factor <= greedy(problem).load_factor


def test_the_closest_is_the_closest() -> None:
    problem = ASSIGNMENT_PROBLEMS["hot-spots"](500, 10, seed=2)
    places, brokers = problem.subscribers.positions, problem.tree.brokers
    away = np.linalg.norm(places[:, None] - brokers[None], axis=2)
    plan = assign_nearest(problem, with_capacity=False)
    assert plan.assignment.tolist() == away.argmin(axis=1).tolist()


def test_a_flow_gives_everybody_a_leaf_that_they_may_have() -> None:
    sets = np.array([[True, True, False], [False, True, True]])
    served = solve_max_flow(sets, np.array([5, 7]), np.array([4, 4, 4]))
    assert served.sum(axis=1).tolist() == [5, 7]
    assert served.sum(axis=0).tolist() == [4, 4, 4]
    assert not served[~sets].any()
    factor, served = find_min_load_factor(sets, np.array([6, 6]), np.full(3, 1 / 3))
    assert served.sum() == 12
    assert factor <= 1.001


def test_groups_are_what_subscribers_are() -> None:
    problem = ASSIGNMENT_PROBLEMS["topics"](800, 12, seed=5)
    demand = DemandGroups.from_problem(problem)
    may = unpack_leaf_sets(find_leaves_within_delay(problem), len(problem.tree.leaves))
    assert (demand.leaf_sets[demand.leaf_set_of_group[demand.group_of_subscriber]] == may).all()
    lower, upper = demand.grid.to_coordinates(
        demand.box_classes[demand.class_of_group[demand.group_of_subscriber]]
    )
    assert (lower == problem.subscribers.lower).all()
    assert (upper == problem.subscribers.upper).all()
    assert demand.group_sizes.sum() == 800
    assert len(
        np.unique(np.stack([demand.class_of_group, demand.leaf_set_of_group]), axis=1).T
    ) == len(demand.group_sizes)
