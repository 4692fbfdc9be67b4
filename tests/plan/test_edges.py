"""Plans at the edges: few subscribers, boxes without volume, ties, and what fits nothing."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from covey.errors import InvalidArgumentError
from covey.plan import (
    BrokerTree,
    Plan,
    Problem,
    Subscribers,
    assign_nearest,
    balance_loads,
    greedy,
    lower_bound,
    replan,
    search,
    slp,
)
from covey.plan.model.filters import BrokerFilters
from covey.plan.workload.problems import make_hot_spots_problem
from tests.plan.test_plan import VALID

ONE = BrokerTree.from_arrays([0, 0], [[1, 0]])


def here(lower: object, upper: object, tree: BrokerTree = ONE, **more: object) -> Problem:
    """Everybody where the publisher is."""
    low, high = np.asarray(lower, np.float64), np.asarray(upper, np.float64)
    wanted = Subscribers.from_arrays(np.zeros((len(low), 2)), low, high)
    given = {"max_rectangles": 2, "max_delay": 5.0, "max_load": 3.0} | more
    return Problem(tree, wanted, **given)  # type: ignore[arg-type]


def test_somebody_far_from_all_others_leaves() -> None:
    problem = here([[0, 0], [100, 100]], [[1, 1], [101, 101]])
    found = replan(greedy(problem), problem.take(np.array([0])), np.array([0]))
    assert found.verify() == VALID
    assert found.bandwidth == 1.0


def test_event_space_may_be_below_zero() -> None:
    random = np.random.default_rng(0)
    corners = random.uniform(-10, -5, (2, 2))[random.integers(0, 2, 60)]
    tree = BrokerTree.from_arrays([0, 0], random.normal(0, 10, (3, 2)))
    wanted = Subscribers.from_arrays(random.normal(0, 10, (60, 2)), corners, corners + 1)
    found = slp(Problem(tree, wanted, max_delay=5), max_seconds=10).plan
    assert found.verify() == VALID


def test_more_ends_than_cuts_make_no_bound_too_large_and_no_plan_worse() -> None:
    count = 520
    at = np.r_[np.linspace(0, 1, count), 10 + np.linspace(0, 1, count)][:, None]
    problem = here(at, at + 1e-4)
    filters = BrokerFilters(
        np.array([[[0.0], [10.0]]]), np.array([[[1.0001], [11.0001]]]), np.array([2])
    )
    start = Plan(problem, np.zeros(2 * count, np.int32), filters)
    assert start.verify() == VALID
    assert lower_bound(problem, start.bandwidth) <= start.bandwidth
    found = search(problem, start, steps=50)
    assert found.verify() == VALID
    assert found.bandwidth <= start.bandwidth


def test_a_sampled_search_is_not_worse_than_its_start() -> None:
    problem = make_hot_spots_problem(400, 8, seed=4)
    start = search(problem, steps=800)
    assert start.verify() == VALID
    assert search(problem, start, steps=20, sample_size=50).bandwidth <= start.bandwidth


def test_boxes_without_volume_are_covered_by_unions() -> None:
    lower, upper = [[0, 0], [5, -10], [2, 0], [2, 5]], [[5, 20], [10, 10], [8, 10], [8, 5]]
    problem = here(lower, upper)
    for plan in (greedy(problem), search(problem, steps=20), balance_loads(problem)):
        assert plan.verify() == VALID
    filters = BrokerFilters(
        np.array([lower[:2]], float), np.array([upper[:2]], float), np.array([2])
    )
    flat = np.array([[2, 5], [2, 15], [5, 12], [3, 3]], np.float64)
    ends = np.array([[8, 5], [8, 15], [5, 12], [3, 3]], np.float64)
    assert filters.covers(0, flat, ends).tolist() == [True, False, True, True]


def test_all_boxes_may_be_flat_on_an_axis() -> None:
    problem = here([[-48, -48], [-48, 3]], [[-48, -46], [-48, 3]])
    for plan in (
        greedy(problem),
        search(problem, steps=5),
        balance_loads(problem),
        assign_nearest(problem),
    ):
        assert plan.verify() == VALID
    counted = here([[-48, -48]], [[-48, -46]], event_sample=[[-48, -47], [-48, 0], [0, -47]])
    assert greedy(counted).verify() == VALID
    assert greedy(counted).bandwidth == pytest.approx(1 / 3)


def test_only_leaves_serve() -> None:
    tree = BrokerTree.from_arrays([0, 0], [[1, 0], [9, 9], [2, 0]], parents=[-1, 0, 0])
    problem = here(np.zeros((10, 2)), np.ones((10, 2)), tree)
    filters = BrokerFilters(np.zeros((3, 1, 2)), np.ones((3, 1, 2)), np.array([1, 0, 0]))
    for broker in (0, -1, 3):
        with pytest.raises(InvalidArgumentError, match=f"subscriber 0 is served by {broker}"):
            Plan(problem, np.full(10, broker, np.int32), filters)


def test_a_start_for_another_problem_is_refused() -> None:
    places = np.random.default_rng(0).normal(0, 10, (6, 2))
    lower, upper = np.zeros((12, 2)), np.ones((12, 2))
    some = here(lower, upper, BrokerTree.from_arrays([0, 0], places[:4]), max_delay=9.0)
    tree = BrokerTree.from_arrays([0, 0], places, parents=[4, 4, 5, 5, -1, -1])
    other = here(lower, upper, tree, max_delay=9.0, max_load=20.0)
    with pytest.raises(InvalidArgumentError, match="filters of 4 brokers"):
        search(other, greedy(some))
    with pytest.raises(InvalidArgumentError, match="another broker tree"):
        replan(greedy(some), other, np.arange(12))
    with pytest.raises(InvalidArgumentError, match="shape"):
        search(some.take(np.arange(5)), greedy(some))


def test_few_move_where_two_have_no_room() -> None:
    problem = make_hot_spots_problem(2_000, 10, seed=3)
    plan = search(problem, steps=100)
    full = problem.tree.leaves[plan.loads.argmax()]
    others = np.flatnonzero(plan.assignment != full)[10:]
    now = np.sort(np.r_[np.flatnonzero(plan.assignment == full), others])
    found = replan(plan, problem.take(now), now, max_moved_share=0.02, steps=100)
    assert found.verify() == VALID
    assert np.count_nonzero(found.assignment != plan.assignment[now]) <= 0.02 * len(now)


def test_who_wants_something_else_is_served_anew() -> None:
    plan = greedy(here(np.zeros((12, 2)), np.ones((12, 2))))
    wider = here(np.zeros((12, 2)) - 1, np.ones((12, 2)))
    assert replan(plan, wider, np.arange(12)).verify() == VALID
    assert replan(plan, wider, np.full(12, -1)).verify() == VALID


def test_a_bound_is_one_for_valid_plans_though_others_need_less(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lower, upper = [[0, 3], [2, 3], [3, 1]] * 2, [[1, 6], [4, 5], [5, 3]] * 2
    places = np.repeat([[10, 0], [-10, 0.0]], 3, axis=0)
    tree = BrokerTree.from_arrays([0, 0], [[10, 0], [-10, 0]])
    wanted = Subscribers.from_arrays(places, lower, upper)
    problem = Problem(tree, wanted, max_rectangles=1, target_load=1, max_load=2)
    late, valid = greedy(problem, with_latency=False), search(problem, steps=30)
    assert not late.verify().is_valid
    assert valid.verify() == VALID
    assert lower_bound(problem) <= valid.bandwidth
    monkeypatch.setattr("covey.plan.bounds.bandwidth_bound.greedy", lambda _: late)
    assert lower_bound(problem) <= valid.bandwidth


def test_ways_of_equal_length_are_both_the_shortest() -> None:
    angles = np.random.default_rng(4).uniform(0, 6.28, 2)
    brokers = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    middle = np.array([np.cos(angles.mean()), np.sin(angles.mean())])
    at = np.stack([middle * k for k in (0.1, 0.2, 0.3, 0.5, 0.7, 1.1, 1.3, -0.4)])
    wanted = Subscribers.from_arrays(at, np.zeros((8, 2)), np.ones((8, 2)))
    tree = BrokerTree.from_arrays([0, 0], brokers)
    problem = Problem(tree, wanted, max_rectangles=1, max_delay=0, target_load=2, max_load=2)
    found = search(problem, steps=20)
    assert found.verify() == VALID
    assert found.bandwidth == 1.0
    assert lower_bound(problem, found.bandwidth) <= 1.0


def test_more_brokers_than_subscribers() -> None:
    tree = BrokerTree.from_arrays([0, 0], np.eye(10)[:, :2] + 1)
    found = assign_nearest(here(np.zeros((3, 2)), np.ones((3, 2)), tree, max_load=1.8))
    assert found.verify().over_capacity == 3  # a fifth of a subscriber is what each may serve


def test_capacities_far_apart() -> None:
    tree = BrokerTree.from_arrays([0, 0], np.ones((4, 2)))
    allowed = np.repeat([[True, False, False, False], [False, True, False, False]], 6, axis=0)
    problem = here(
        np.zeros((12, 2)),
        np.ones((12, 2)),
        tree,
        share_weights=[1e-9, 1, 1, 1],
        allowed_leaves=allowed,
    )
    found = balance_loads(problem)
    assert found.verify().too_far == 0
    assert found.loads.tolist() == [6, 6, 0, 0]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"max_delay": np.inf}, "max_delay must be at least 0 and finite, got inf"),
        ({"max_load": np.inf}, "finite with 1 ≤ target_load ≤ max_load"),
        ({"max_rectangles": 2.0}, "max_rectangles must be a whole number, got 2.0"),
        ({"share_weights": [np.inf]}, "one positive, finite share"),
        ({"event_sample": np.full((1, 2), np.nan)}, "and finite coordinates"),
        ({"event_sample": np.zeros((0, 2))}, "must have at least one event"),
    ],
)
def test_what_has_no_end_is_refused(more: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        here(np.zeros((2, 2)), np.ones((2, 2)), **more)


def test_boxes_that_cannot_be_measured_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="exceeds the largest floating-point number"):
        here([[-1e200, -1e200]], [[1e200, 1e200]])
    with pytest.raises(InvalidArgumentError, match="have no coordinate"):
        here(np.zeros((2, 0)), np.zeros((2, 0)))
    with pytest.raises(InvalidArgumentError, match="event_sample has 9 coordinates"):
        here(np.zeros((2, 9)), np.ones((2, 9)), event_sample=np.zeros((1, 9)))
    with pytest.raises(InvalidArgumentError, match=r"parent 0\.5"):
        BrokerTree.from_arrays([0, 0], np.ones((2, 2)), parents=[-1, 0.5])
    with pytest.raises(InvalidArgumentError, match="brokers must be finite"):
        BrokerTree.from_arrays([0, 0], [[0, np.inf]])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            lambda: Subscribers.from_arrays([[0, 0], [1]], [[0], [0]], [[1], [1]]),
            "positions must be an array of numbers",
        ),
        (
            lambda: Subscribers.from_arrays([[0, 0]], [["low"]], [[1]]),
            "lower ends must be an array of numbers",
        ),
        (
            lambda: BrokerTree.from_arrays([0, 0], [[1, 0], [2]]),
            "brokers must be an array of numbers",
        ),
        (
            lambda: BrokerTree.from_arrays([0, 0], [[1, 0]], parents=["root"]),
            "parents must be an array of numbers",
        ),
        (
            lambda: BrokerTree.from_arrays([0, 0], [[1, 0]], parents=[np.nan]),
            "broker 0 has parent nan",
        ),
        (lambda: BrokerTree.from_arrays([0, 0], [[1, 0]], parents=[7]), "broker 0 has parent 7:"),
        (
            lambda: BrokerTree.from_arrays([0, 0], [[1, 0]], parents=[1_234_567]),
            "has parent 1234567:",
        ),
        (
            lambda: here([[0]], [[1]], event_sample=[[0], [1, 2]]),
            "event_sample must be an array of numbers",
        ),
    ],
)
def test_what_is_no_number_is_told_by_its_name(given: Callable[[], object], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        given()
