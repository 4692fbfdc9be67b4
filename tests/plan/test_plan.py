"""A plan computes its violations from positions, boxes and filters alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from covey.errors import InvalidArgumentError
from covey.plan import PUBLISHER, BrokerTree, Plan, Problem, Subscribers, Violations, greedy
from covey.plan.model.filters import BrokerFilters
from covey.plan.workload.problems import ASSIGNMENT_PROBLEMS

VALID = Violations(too_far=0, uncovered=0, over_capacity=0, not_nested=0, too_many_rectangles=0)


def two_levels() -> Plan:
    """Return a plan of two leaves below one broker, two subscribers each, and minimal filters."""
    tree = BrokerTree.from_arrays([0, 0], [[1, 0], [2, 0], [2, 1]], parents=[PUBLISHER, 0, 0])
    subscribers = Subscribers.from_arrays(
        [[3, 0], [3, 0], [3, 1], [3, 1]],
        [[0, 0], [1, 1], [5, 5], [6, 6]],
        [[1, 1], [2, 2], [6, 6], [7, 7]],
    )
    problem = Problem(
        tree, subscribers, max_rectangles=2, target_load=1.0, max_load=1.0, max_delay=0.4
    )
    lower = np.zeros((3, 2, 2))
    upper = np.zeros((3, 2, 2))
    lower[0], upper[0] = [[0, 0], [5, 5]], [[2, 2], [7, 7]]
    lower[1, 0], upper[1, 0] = [0, 0], [2, 2]
    lower[2, :2], upper[2, :2] = [[5, 5], [6, 6]], [[6, 6], [7, 7]]
    return Plan(
        problem, np.array([1, 1, 2, 2], np.int32), BrokerFilters(lower, upper, np.array([2, 1, 2]))
    )


def test_a_plan_without_violations_is_valid() -> None:
    plan = two_levels()
    assert plan.verify() == VALID
    assert plan.verify().is_valid
    assert plan.bandwidth_by_broker.tolist() == [8.0, 4.0, 2.0]
    assert plan.bandwidth == 14.0
    assert plan.loads.tolist() == [2, 2]
    assert plan.load_factor == 1.0


def test_every_violation_is_counted() -> None:
    plan = two_levels()
    everybody = replace(plan, assignment=np.array([1, 1, 1, 2], np.int32))
    assert everybody.verify() == replace(VALID, uncovered=1, over_capacity=1)
    lower = plan.filters.lower.copy()
    lower[0, 0] = [1, 1]
    shrunk = replace(plan, filters=replace(plan.filters, lower=lower))
    assert shrunk.verify() == replace(VALID, not_nested=1)
    strict = replace(plan, problem=replace(plan.problem, max_rectangles=1))
    assert strict.verify() == replace(VALID, too_many_rectangles=2)
    far = replace(plan.problem, max_delay=0.0)
    swapped = Plan(far, np.array([2, 1, 2, 2], np.int32), plan.filters)
    assert swapped.verify() == replace(VALID, too_far=1, uncovered=1, over_capacity=1)
    allowed = np.ones((4, 2), np.bool_)
    allowed[3] = [True, False]
    forbidden = replace(plan, problem=replace(plan.problem, allowed_leaves=allowed))
    assert forbidden.verify() == replace(VALID, too_far=1)


def test_a_union_may_cover_a_box_that_no_single_rectangle_covers() -> None:
    filters = BrokerFilters(
        np.array([[[0.0, 0.0], [1.0, 0.0]]]), np.array([[[1.0, 2.0], [3.0, 2.0]]]), np.array([2])
    )
    lower = np.array([[0.5, 0.5], [0.5, 0.5], [0.5, 0.5]])
    upper = np.array([[2.0, 1.0], [2.0, 2.5], [0.5, 0.5]])
    assert filters.covers(0, lower, upper).tolist() == [True, False, True]


def test_bandwidth_is_the_share_of_events_with_an_event_sample() -> None:
    events = np.array([[0.5, 0.5], [2.0, 2.0], [5.5, 5.5], [9.0, 9.0]])
    plan = two_levels()
    plan = replace(plan, problem=replace(plan.problem, event_sample=events))
    assert plan.bandwidth_by_broker.tolist() == [0.75, 0.5, 0.25]


@pytest.mark.parametrize("name", ASSIGNMENT_PROBLEMS)
def test_greedy_plans_violate_only_documented_constraints(name: str) -> None:
    problem = ASSIGNMENT_PROBLEMS[name](3_000, 20, seed=1)
    for offline in (False, True):
        found = greedy(problem, is_offline=offline).verify()
        assert found == replace(VALID, over_capacity=found.over_capacity)
    anywhere = greedy(problem, with_latency=False).verify()
    assert anywhere.too_far > 0
    assert anywhere == replace(VALID, too_far=anywhere.too_far)


@pytest.mark.parametrize("name", ["topics", "hot-spots"])
def test_greedy_plans_of_two_levels_are_valid(name: str) -> None:
    problem = ASSIGNMENT_PROBLEMS[name](3_000, 30, degree=6, seed=2)
    problem = replace(problem, max_delay=1.0)
    plan = greedy(problem)
    assert len(problem.tree.leaves) == 25
    assert plan.verify() == VALID
    assert set(plan.assignment.tolist()) <= set(problem.tree.leaves.tolist())


def adversarial(alpha: int = 3, brokers: int = 3, each: int = 20) -> Problem:
    """Return the hard case of the paper for greedy: squares on a diagonal, at growing distances."""
    count = (alpha + 1) * brokers
    steps = [10.0 ** ((i % alpha) + 1) for i in range(1, count)]
    places = np.cumsum([0.0, *steps])
    lower = np.stack([places, places], axis=1) - 0.5
    allowed = np.zeros((count, brokers), np.bool_)
    for i in range(count):
        if i >= alpha * brokers:
            allowed[i] = True
            continue
        one, other = i // (alpha + 1), i % brokers
        if one == other:
            other = 0 if one else 1
        allowed[i, [one, other]] = True
    order = [*range(alpha * brokers), *range(count - 1, alpha * brokers - 1, -1)]
    rows = np.repeat(order, each)
    tree = BrokerTree.from_arrays([0.0], np.zeros((brokers, 1)))
    subscribers = Subscribers.from_arrays(np.zeros((len(rows), 1)), lower[rows], lower[rows] + 1)
    return Problem(
        tree,
        subscribers,
        max_rectangles=alpha,
        target_load=1.0,
        max_load=1.0,
        allowed_leaves=allowed[rows],
    )


def test_greedy_can_be_orders_of_magnitude_above_the_optimum() -> None:
    problem = adversarial()
    assert problem.allowed_leaves is not None
    assert [np.flatnonzero(row).tolist() for row in problem.allowed_leaves[:180:20]] == [
        [0, 1], [0, 1], [0, 2], [0, 1], [0, 1], [1, 2], [0, 1], [0, 1], [0, 2],
    ]  # fmt: skip
    plan = greedy(problem, seed=None)
    assert plan.verify() == VALID
    best = np.repeat([0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2], 20)
    rows = np.repeat([*range(9), 11, 10, 9], 20)
    filters = [
        _around(problem, np.flatnonzero(best[rows.argsort(kind="stable").argsort()] == b))
        for b in range(3)
    ]
    assert plan.bandwidth > 50 * sum(filters)


def _around(problem: Problem, rows: np.ndarray) -> float:
    """Return the volume of three rectangles for four squares: the nearest two squares share one."""
    squares = np.unique(problem.subscribers.lower[rows], axis=0)
    gaps = np.diff(squares[:, 0])
    return float((gaps.min() + 1) ** 2 + len(squares) - 2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"max_rectangles": 0}, "max_rectangles must be from 1 to 6, got 0"),
        ({"max_delay": -1.0}, "max_delay must be at least 0 and finite, got -1.0"),
        ({"target_load": 2.0, "max_load": 1.5}, "target_load ≤ max_load"),
        ({"share_weights": np.array([1.0])}, "one positive, finite number for each of 2 leaves"),
        ({"event_sample": np.zeros((3, 1))}, "one row for each event, with 2 coordinates"),
        ({"allowed_leaves": np.zeros((4, 2), np.bool_)}, "no leaf for subscriber 0"),
        ({"allowed_leaves": np.ones((1, 2), np.bool_)}, "a row for each of 4 subscribers"),
    ],
)
def test_invalid_problems_are_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        replace(two_levels().problem, **change)  # type: ignore[arg-type]


def test_invalid_boxes_and_trees_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="subscriber 1 has an empty box"):
        Subscribers.from_arrays([[0], [0]], [[0], [2]], [[1], [1]])
    with pytest.raises(InvalidArgumentError, match="finite"):
        Subscribers.from_arrays([[0]], [[-np.inf]], [[1]])
    with pytest.raises(InvalidArgumentError, match="do not fit"):
        Subscribers.from_arrays([[0]], [[0], [1]], [[1], [2]])
    with pytest.raises(InvalidArgumentError, match="below themselves"):
        BrokerTree.from_arrays([0], [[1], [2]], parents=[1, 0])
    with pytest.raises(InvalidArgumentError, match="from 0 to 1, or -1 for the publisher"):
        BrokerTree.from_arrays([0], [[1], [2]], parents=[7, 0])
    with pytest.raises(InvalidArgumentError, match=r"publisher of shape .* do not fit"):
        BrokerTree.from_arrays([0, 0], [[1]])
    with pytest.raises(InvalidArgumentError, match="give at least one"):
        BrokerTree.from_arrays([0], np.zeros((0, 1)))
