"""Plans that look at one thing: they do well at that."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from covey.plan import balance, closest, greedy
from covey.plan.demand import Demand
from covey.plan.flow import flow, least_factor
from covey.plan.reach import near_leaves, unpacked
from covey.plan.sets import SETS
from tests.plan.test_plan import VALID


@pytest.mark.parametrize("name", ["topics", "interests"])
@pytest.mark.parametrize("degree", [None, 6])
def test_they_keep_to_filters_and_have_more_bandwidth(name: str, degree: int | None) -> None:
    problem = replace(SETS[name](3_000, 20, degree=degree, seed=2), max_delay=1.0)
    least = greedy(problem).bandwidth
    for plan in (closest(problem), closest(problem, with_balance=False), balance(problem)):
        found = plan.verify()
        assert found == replace(VALID, late=found.late, beyond=found.beyond)
        assert plan.bandwidth > least
    assert closest(problem).verify().beyond == 0
    assert balance(problem).verify() == VALID
    assert balance(problem).load_factor <= greedy(problem).load_factor


def test_the_closest_is_the_closest() -> None:
    problem = SETS["hot-spots"](500, 10, seed=2)
    places, brokers = problem.subscribers.positions, problem.tree.brokers
    away = np.linalg.norm(places[:, None] - brokers[None], axis=2)
    plan = closest(problem, with_balance=False)
    assert plan.assignment.tolist() == away.argmin(axis=1).tolist()


def test_a_flow_gives_everybody_a_leaf_that_they_may_have() -> None:
    sets = np.array([[True, True, False], [False, True, True]])
    served = flow(sets, np.array([5, 7]), np.array([4, 4, 4]))
    assert served.sum(axis=1).tolist() == [5, 7]
    assert served.sum(axis=0).tolist() == [4, 4, 4]
    assert not served[~sets].any()
    factor, served = least_factor(sets, np.array([6, 6]), np.full(3, 1 / 3))
    assert served.sum() == 12
    assert factor <= 1.001


def test_groups_are_what_subscribers_are() -> None:
    problem = SETS["topics"](800, 12, seed=5)
    demand = Demand.of(problem)
    may = unpacked(near_leaves(problem), len(problem.tree.leaves))
    assert (demand.sets[demand.set_of[demand.group_of]] == may).all()
    lower, upper = demand.cells.ends(demand.kinds[demand.kind_of[demand.group_of]])
    assert (lower == problem.subscribers.lower).all()
    assert (upper == problem.subscribers.upper).all()
    assert demand.counts.sum() == 800
    assert len(np.unique(np.stack([demand.kind_of, demand.set_of]), axis=1).T) == len(demand.counts)
