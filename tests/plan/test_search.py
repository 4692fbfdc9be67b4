"""The search keeps all constraints, never makes a plan worse, and depends only on its seed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from covey.errors import InvalidArgumentError
from covey.plan import PUBLISHER, BrokerTree, Plan, Problem, Subscribers, greedy, search
from covey.plan.model.filters import BrokerFilters
from covey.plan.workload.problems import ASSIGNMENT_PROBLEMS
from tests.plan.test_plan import VALID, adversarial


@pytest.mark.parametrize("name", ASSIGNMENT_PROBLEMS)
@pytest.mark.parametrize("degree", [None, 6])
def test_search_finds_valid_plans_with_less_bandwidth(name: str, degree: int | None) -> None:
    problem = ASSIGNMENT_PROBLEMS[name](3_000, 30, degree=degree, seed=3)
    problem = replace(problem, max_delay=1.0)
    start = greedy(problem)
    progress_calls: list[tuple[float, float]] = []
    found = search(problem, start, steps=300, progress=lambda *now: progress_calls.append(now))
    assert start.verify() == found.verify() == VALID
    assert found.feasible_load_factor == start.feasible_load_factor
    assert found.bandwidth < 0.95 * start.bandwidth
    assert [done for done, _ in progress_calls] == pytest.approx(np.arange(1, 101) / 100)
    assert progress_calls[-1][1] == pytest.approx(found.bandwidth)


def test_search_separates_boxes_between_two_brokers_with_many_leaves() -> None:
    below = 16
    tree = BrokerTree.from_arrays(
        [0.0], np.zeros((2 + 2 * below, 1)), parents=[PUBLISHER] * 2 + [0, 1] * below
    )
    # the leaves of both brokers alternate
    corner = np.tile([[0.0], [0.0], [900.0], [900.0]], (below // 2, 2))
    subscribers = Subscribers.from_arrays(np.zeros((2 * below, 1)), corner, corner + 1)
    problem = Problem(
        tree, subscribers, max_delay=1.0, max_rectangles=1, target_load=1.0, max_load=1.0
    )
    lower, upper = np.vstack([[[0.0] * 2] * 2, corner]), np.vstack([[[901.0] * 2] * 2, corner + 1])
    filters = BrokerFilters(lower[:, None], upper[:, None], np.ones(len(tree), np.int64))
    start = Plan(problem, np.arange(2, len(tree)), filters)
    assert start.verify() == VALID
    assert start.delays.max() == 0  # all subscribers are at the position of the publisher
    found = search(problem, start, steps=200)
    assert found.verify() == VALID
    assert found.bandwidth == 2 + 2 * below


def test_the_same_seed_gives_the_same_plan() -> None:
    problem = ASSIGNMENT_PROBLEMS["hot-spots"](2_000, 10, seed=4)
    one, again, other = (search(problem, steps=100, seed=seed) for seed in (5, 5, 6))
    assert (one.assignment == again.assignment).all()
    assert one.bandwidth == again.bandwidth
    assert (one.assignment != other.assignment).any()


def test_a_search_without_steps_returns_its_start() -> None:
    problem = ASSIGNMENT_PROBLEMS["interests"](2_000, 10, seed=4)
    start = greedy(problem)
    assert search(problem, start, steps=0).bandwidth == pytest.approx(start.bandwidth)
    with pytest.raises(InvalidArgumentError, match="steps must be at least 0, got -1"):
        search(problem, start, steps=-1)


def test_a_start_with_too_many_rectangles_is_refused() -> None:
    problem = ASSIGNMENT_PROBLEMS["hot-spots"](500, 10, seed=4)
    with pytest.raises(InvalidArgumentError, match="3 rectangles, but max_rectangles is 2"):
        search(replace(problem, max_rectangles=2), greedy(problem), steps=1)


def test_search_stops_at_its_time_limit() -> None:
    problem = ASSIGNMENT_PROBLEMS["hot-spots"](2_000, 10, seed=4)
    progress_calls: list[float] = []
    search(
        problem,
        steps=1_000_000,
        max_seconds=0.2,
        progress=lambda done, _: progress_calls.append(done),
    )
    assert progress_calls[-1] == 1
    assert sorted(progress_calls) == progress_calls


def test_search_escapes_the_hard_case_of_greedy() -> None:
    problem = adversarial()
    start = greedy(problem, seed=None)
    found = search(problem, start, steps=500)
    assert found.verify() == VALID
    assert found.bandwidth < start.bandwidth / 50


def test_search_minimises_the_share_of_events_with_an_event_sample() -> None:
    problem = ASSIGNMENT_PROBLEMS["hot-spots"](2_000, 10, seed=4)
    events = np.random.default_rng(1).beta(2, 8, (500, 2)) * 1000
    problem = replace(problem, event_sample=events)
    start = greedy(problem)
    found = search(problem, start, steps=200)
    assert found.verify() == VALID
    assert found.bandwidth < start.bandwidth <= 10


def make_two_leaves_problem(free: int) -> Problem:
    """Return a problem of ten equal boxes, `free` of which may use either leaf, the others one."""
    tree = BrokerTree.from_arrays([0.0], np.zeros((2, 1)))
    subscribers = Subscribers.from_arrays(np.zeros((10, 1)), np.zeros((10, 1)), np.ones((10, 1)))
    allowed = np.ones((10, 2), np.bool_)
    allowed[free:, 1] = False
    return Problem(
        tree, subscribers, max_rectangles=1, target_load=1.0, max_load=2.0, allowed_leaves=allowed
    )


@pytest.mark.parametrize(("free", "factor"), [(10, 1.0), (5, 1.0), (3, 1.5), (2, 2.0), (0, 2.0)])
def test_the_load_factor_is_the_target_or_the_smallest_feasible(free: int, factor: float) -> None:
    found = search(make_two_leaves_problem(free), steps=20)
    assert found.verify() == VALID
    assert found.feasible_load_factor == factor


def test_a_start_above_the_target_load_is_not_the_result() -> None:
    problem = make_two_leaves_problem(10)
    filters = BrokerFilters(np.zeros((2, 1, 1)), np.ones((2, 1, 1)), np.array([1, 0]))
    start = Plan(problem, np.zeros(10, np.int32), filters)
    assert (start.verify(), start.feasible_load_factor, start.bandwidth) == (VALID, 2.0, 1.0)
    found = search(problem, start, steps=20)
    assert (found.verify(), found.feasible_load_factor, found.bandwidth) == (VALID, 1.0, 2.0)
