"""Plans at the edges: few subscribers, boxes without volume, ties, and infeasible problems."""

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


def make_problem(lower: object, upper: object, tree: BrokerTree = ONE, **more: object) -> Problem:
    """Return a problem with all subscribers at the position of the publisher."""
    low, high = np.asarray(lower, np.float64), np.asarray(upper, np.float64)
    subscribers = Subscribers.from_arrays(np.zeros((len(low), 2)), low, high)
    options = {"max_rectangles": 2, "max_delay": 5.0, "max_load": 3.0} | more
    return Problem(tree, subscribers, **options)  # type: ignore[arg-type]


def test_a_distant_subscriber_can_leave() -> None:
    problem = make_problem([[0, 0], [100, 100]], [[1, 1], [101, 101]])
    found = replan(greedy(problem), problem.take(np.array([0])), np.array([0]))
    assert found.verify() == VALID
    assert found.bandwidth == 1.0


def test_event_space_may_be_negative() -> None:
    random = np.random.default_rng(0)
    corners = random.uniform(-10, -5, (2, 2))[random.integers(0, 2, 60)]
    tree = BrokerTree.from_arrays([0, 0], random.normal(0, 10, (3, 2)))
    subscribers = Subscribers.from_arrays(random.normal(0, 10, (60, 2)), corners, corners + 1)
    found = slp(Problem(tree, subscribers, max_delay=5), max_seconds=10).plan
    assert found.verify() == VALID


def test_more_coordinates_than_grid_lines_keep_bound_and_search_valid() -> None:
    count = 520
    positions = np.r_[np.linspace(0, 1, count), 10 + np.linspace(0, 1, count)][:, None]
    problem = make_problem(positions, positions + 1e-4)
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
    problem = make_problem(lower, upper)
    for plan in (greedy(problem), search(problem, steps=20), balance_loads(problem)):
        assert plan.verify() == VALID
    filters = BrokerFilters(
        np.array([lower[:2]], float), np.array([upper[:2]], float), np.array([2])
    )
    flat = np.array([[2, 5], [2, 15], [5, 12], [3, 3]], np.float64)
    ends = np.array([[8, 5], [8, 15], [5, 12], [3, 3]], np.float64)
    assert filters.covers(0, flat, ends).tolist() == [True, False, True, True]


def test_all_boxes_may_be_flat_on_an_axis() -> None:
    problem = make_problem([[-48, -48], [-48, 3]], [[-48, -46], [-48, 3]])
    for plan in (
        greedy(problem),
        search(problem, steps=5),
        balance_loads(problem),
        assign_nearest(problem),
    ):
        assert plan.verify() == VALID
    counted = make_problem(
        [[-48, -48]], [[-48, -46]], event_sample=[[-48, -47], [-48, 0], [0, -47]]
    )
    assert greedy(counted).verify() == VALID
    assert greedy(counted).bandwidth == pytest.approx(1 / 3)


def test_only_leaves_may_serve_subscribers() -> None:
    tree = BrokerTree.from_arrays([0, 0], [[1, 0], [9, 9], [2, 0]], parents=[-1, 0, 0])
    problem = make_problem(np.zeros((10, 2)), np.ones((10, 2)), tree)
    filters = BrokerFilters(np.zeros((3, 1, 2)), np.ones((3, 1, 2)), np.array([1, 0, 0]))
    for broker in (0, -1, 3):
        with pytest.raises(InvalidArgumentError, match=f"served by broker {broker}, which"):
            Plan(problem, np.full(10, broker, np.int32), filters)


def test_a_start_plan_for_another_problem_is_refused() -> None:
    places = np.random.default_rng(0).normal(0, 10, (6, 2))
    lower, upper = np.zeros((12, 2)), np.ones((12, 2))
    small_problem = make_problem(
        lower, upper, BrokerTree.from_arrays([0, 0], places[:4]), max_delay=9.0
    )
    tree = BrokerTree.from_arrays([0, 0], places, parents=[4, 4, 5, 5, -1, -1])
    other = make_problem(lower, upper, tree, max_delay=9.0, max_load=20.0)
    with pytest.raises(InvalidArgumentError, match="filters of 4 brokers"):
        search(other, greedy(small_problem))
    with pytest.raises(InvalidArgumentError, match="another broker tree"):
        replan(greedy(small_problem), other, np.arange(12))
    with pytest.raises(InvalidArgumentError, match="shape"):
        search(small_problem.take(np.arange(5)), greedy(small_problem))


def test_few_subscribers_move_if_few_leaves_have_free_capacity() -> None:
    problem = make_hot_spots_problem(2_000, 10, seed=3)
    plan = search(problem, steps=100)
    full = problem.tree.leaves[plan.loads.argmax()]
    others = np.flatnonzero(plan.assignment != full)[10:]
    remaining_rows = np.sort(np.r_[np.flatnonzero(plan.assignment == full), others])
    found = replan(
        plan, problem.take(remaining_rows), remaining_rows, max_moved_share=0.02, steps=100
    )
    assert found.verify() == VALID
    assert np.count_nonzero(found.assignment != plan.assignment[remaining_rows]) <= 0.02 * len(
        remaining_rows
    )


def test_subscribers_with_changed_boxes_are_assigned_again() -> None:
    plan = greedy(make_problem(np.zeros((12, 2)), np.ones((12, 2))))
    wider = make_problem(np.zeros((12, 2)) - 1, np.ones((12, 2)))
    assert replan(plan, wider, np.arange(12)).verify() == VALID
    assert replan(plan, wider, np.full(12, -1)).verify() == VALID


def test_the_bound_holds_for_valid_plans_although_invalid_ones_need_less(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lower, upper = [[0, 3], [2, 3], [3, 1]] * 2, [[1, 6], [4, 5], [5, 3]] * 2
    places = np.repeat([[10, 0], [-10, 0.0]], 3, axis=0)
    tree = BrokerTree.from_arrays([0, 0], [[10, 0], [-10, 0]])
    subscribers = Subscribers.from_arrays(places, lower, upper)
    problem = Problem(tree, subscribers, max_rectangles=1, target_load=1, max_load=2)
    late, valid = greedy(problem, with_latency=False), search(problem, steps=30)
    assert not late.verify().is_valid
    assert valid.verify() == VALID
    assert lower_bound(problem) <= valid.bandwidth
    monkeypatch.setattr("covey.plan.bounds.bandwidth_bound.greedy", lambda _: late)
    assert lower_bound(problem) <= valid.bandwidth


def test_paths_of_equal_length_are_all_allowed_without_delay() -> None:
    angles = np.random.default_rng(4).uniform(0, 6.28, 2)
    brokers = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    middle = np.array([np.cos(angles.mean()), np.sin(angles.mean())])
    positions = np.stack([middle * k for k in (0.1, 0.2, 0.3, 0.5, 0.7, 1.1, 1.3, -0.4)])
    subscribers = Subscribers.from_arrays(positions, np.zeros((8, 2)), np.ones((8, 2)))
    tree = BrokerTree.from_arrays([0, 0], brokers)
    problem = Problem(tree, subscribers, max_rectangles=1, max_delay=0, target_load=2, max_load=2)
    found = search(problem, steps=20)
    assert found.verify() == VALID
    assert found.bandwidth == 1.0
    assert lower_bound(problem, found.bandwidth) <= 1.0


def test_more_brokers_than_subscribers_are_allowed() -> None:
    tree = BrokerTree.from_arrays([0, 0], np.eye(10)[:, :2] + 1)
    found = assign_nearest(make_problem(np.zeros((3, 2)), np.ones((3, 2)), tree, max_load=1.8))
    assert found.verify().over_capacity == 3  # each leaf may serve a fifth of a subscriber


def test_very_different_capacities_are_balanced() -> None:
    tree = BrokerTree.from_arrays([0, 0], np.ones((4, 2)))
    allowed = np.repeat([[True, False, False, False], [False, True, False, False]], 6, axis=0)
    problem = make_problem(
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
        ({"share_weights": [np.inf]}, "one positive, finite number"),
        ({"event_sample": np.full((1, 2), np.nan)}, "all coordinates must be finite"),
        ({"event_sample": np.zeros((0, 2))}, "must have at least one event"),
    ],
)
def test_infinite_or_invalid_options_are_refused(more: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        make_problem(np.zeros((2, 2)), np.ones((2, 2)), **more)


def test_boxes_of_infinite_volume_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="above the largest floating-point number"):
        make_problem([[-1e200, -1e200]], [[1e200, 1e200]])
    with pytest.raises(InvalidArgumentError, match="have no coordinate"):
        make_problem(np.zeros((2, 0)), np.zeros((2, 0)))
    with pytest.raises(InvalidArgumentError, match="event_sample has 9 coordinates"):
        make_problem(np.zeros((2, 9)), np.ones((2, 9)), event_sample=np.zeros((1, 9)))
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
            lambda: make_problem([[0]], [[1]], event_sample=[[0], [1, 2]]),
            "event_sample must be an array of numbers",
        ),
    ],
)
def test_arguments_that_are_not_numeric_are_named(
    given: Callable[[], object], message: str
) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        given()
