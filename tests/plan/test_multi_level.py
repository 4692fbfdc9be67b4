"""SLP: candidates, linear programs and plans as in the paper."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from covey.plan import greedy, slp
from covey.plan.lp.candidates import build_candidates, build_intervals, cluster_points
from covey.plan.lp.relaxation import solve_relaxation
from covey.plan.workload.problems import ASSIGNMENT_PROBLEMS
from tests.plan.test_plan import VALID


@pytest.mark.parametrize("name", ["topics", "interests", "hot-spots"])
def test_slp_plans_of_one_level_are_valid(name: str) -> None:
    problem = replace(ASSIGNMENT_PROBLEMS[name](1_500, 8, seed=3), max_delay=1.0)
    found = slp(problem, max_seconds=4)
    assert found.plan.verify() == VALID
    assert found.plan.bandwidth < 4 * greedy(problem).bandwidth
    assert found.programs
    assert 0 < found.fractional_value == found.programs[-1].objective_value
    assert found.programs[0].rows > 80


def test_slp_plans_of_two_levels_are_valid() -> None:
    problem = replace(
        ASSIGNMENT_PROBLEMS["topics"](1_500, 12, degree=4, seed=3), max_delay=1.0, max_load=2.5
    )
    found = slp(problem, max_seconds=4)
    assert found.plan.verify() == VALID
    assert len(found.programs) >= 2


def test_the_relaxation_takes_the_cheapest_rectangles() -> None:
    may = np.array([[True, True], [True, True], [False, True]])
    has = np.array([[True, False, True], [False, True, True], [False, True, True]])
    volumes = np.array([1.0, 2.0, 10.0])
    found = solve_relaxation(1, may, has, volumes, 3, np.array([3, 3]), 10)
    assert found is not None
    assert found.objective_value == pytest.approx(3.0, abs=1e-4)
    assert found.fractions == pytest.approx(np.array([[1, 0, 0], [0, 1, 0]]), abs=1e-4)
    tight = solve_relaxation(
        1, may, has, volumes, 3, np.array([3, 1]), 10
    )  # the second leaf may serve only one
    assert tight is not None
    assert tight.objective_value > 3.5
    assert solve_relaxation(1, may, has, volumes, 3, np.array([0, 1]), 10) is None


def test_every_interval_is_in_a_built_interval_of_similar_length() -> None:
    random = np.random.default_rng(2)
    low = random.uniform(0, 100, 60)
    high = low + random.choice([1, 3, 10, 40], 60)
    found = build_intervals(low, high)
    for a, b in zip(low, high, strict=True):
        around = found[(found[:, 0] <= a) & (found[:, 1] >= b)]
        assert (around[:, 1] - around[:, 0]).min() <= 4 * (b - a) + 1e-9


def test_candidates_are_minimal_and_contain_every_box() -> None:
    all_subscribers = ASSIGNMENT_PROBLEMS["hot-spots"](300, 5, seed=1).subscribers
    low, high = build_candidates(all_subscribers, 25, np.random.default_rng(1))
    is_in = (low[:, None] <= all_subscribers.lower).all(axis=2) & (
        high[:, None] >= all_subscribers.upper
    ).all(axis=2)
    assert is_in.any(axis=0).all()
    for number in range(0, len(low), 7):
        rows = is_in[number]
        assert (all_subscribers.lower[rows].min(axis=0) == low[number]).all()
        assert (all_subscribers.upper[rows].max(axis=0) == high[number]).all()


def test_points_near_each_other_form_one_cluster() -> None:
    points = np.array([[0.0, 0.0], [0.1, 0.1], [9.0, 9.0], [9.1, 9.0]])
    of = cluster_points(points, 2, np.random.default_rng(0))
    assert of[0] == of[1] != of[2] == of[3]
    assert len(set(cluster_points(points, 9, np.random.default_rng(0)))) == 4
