"""Baseline plans each optimise one measure and are good at that one."""

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
def test_baselines_are_nested_and_need_more_bandwidth_than_greedy(
    name: str, degree: int | None
) -> None:
    problem = replace(ASSIGNMENT_PROBLEMS[name](3_000, 20, degree=degree, seed=2), max_delay=1.0)
    greedy_bandwidth = greedy(problem).bandwidth
    for plan in (
        assign_nearest(problem),
        assign_nearest(problem, with_capacity=False),
        balance_loads(problem),
    ):
        found = plan.verify()
        assert found == replace(VALID, too_far=found.too_far, over_capacity=found.over_capacity)
        assert plan.bandwidth > greedy_bandwidth
    assert assign_nearest(problem).verify().over_capacity == 0
    assert balance_loads(problem).verify() == VALID
    assert balance_loads(problem).load_factor <= greedy(problem).load_factor


def test_assign_nearest_picks_the_nearest_leaf() -> None:
    problem = ASSIGNMENT_PROBLEMS["hot-spots"](500, 10, seed=2)
    places, brokers = problem.subscribers.positions, problem.tree.brokers
    distances = np.linalg.norm(places[:, None] - brokers[None], axis=2)
    plan = assign_nearest(problem, with_capacity=False)
    assert plan.assignment.tolist() == distances.argmin(axis=1).tolist()


def test_the_flow_assigns_every_subscriber_to_an_allowed_leaf() -> None:
    sets = np.array([[True, True, False], [False, True, True]])
    served = solve_max_flow(sets, np.array([5, 7]), np.array([4, 4, 4]))
    assert served.sum(axis=1).tolist() == [5, 7]
    assert served.sum(axis=0).tolist() == [4, 4, 4]
    assert not served[~sets].any()
    factor, served = find_min_load_factor(sets, np.array([6, 6]), np.full(3, 1 / 3))
    assert served.sum() == 12
    assert factor <= 1.001


def test_demand_groups_preserve_boxes_and_leaf_sets() -> None:
    problem = ASSIGNMENT_PROBLEMS["topics"](800, 12, seed=5)
    demand = DemandGroups.from_problem(problem)
    allowed = unpack_leaf_sets(find_leaves_within_delay(problem), len(problem.tree.leaves))
    assert (demand.leaf_sets[demand.leaf_set_of_group[demand.group_of_subscriber]] == allowed).all()
    lower, upper = demand.grid.to_coordinates(
        demand.box_classes[demand.class_of_group[demand.group_of_subscriber]]
    )
    assert (lower == problem.subscribers.lower).all()
    assert (upper == problem.subscribers.upper).all()
    assert demand.group_sizes.sum() == 800
    assert len(
        np.unique(np.stack([demand.class_of_group, demand.leaf_set_of_group]), axis=1).T
    ) == len(demand.group_sizes)
