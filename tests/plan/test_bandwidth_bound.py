"""Lower bounds of bandwidth, compared with plans and with exhaustive search on small problems."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from covey.plan import BrokerTree, Problem, Subscribers, greedy, lower_bound, search
from covey.plan.bounds.cell_cover import compute_cell_bound
from covey.plan.bounds.filter_value import FilterValueBound
from covey.plan.bounds.lagrangian_price import compute_price_bound
from covey.plan.groups.demand_groups import DemandGroups
from covey.plan.workload.problems import ASSIGNMENT_PROBLEMS
from tests.plan.test_plan import adversarial

SIDE = 5


def make_problem(lower: np.ndarray, upper: np.ndarray, brokers: int, **more: object) -> Problem:
    """Return a problem with all subscribers at one position and all brokers within the delay."""
    tree = BrokerTree.from_arrays([0.0], np.ones((brokers, 1)))
    subscribers = Subscribers.from_arrays(np.ones((len(lower), 1)), lower, upper)
    return Problem(tree, subscribers, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "count", "brokers", "degree"),
    [
        ("topics", 1_000, 12, None),
        ("topics-even", 1_000, 12, 6),
        ("interests", 2_000, 20, None),
        ("hot-spots", 500, 10, 6),
    ],
)
def test_no_plan_is_below_the_bound(
    name: str, count: int, brokers: int, degree: int | None
) -> None:
    problem = replace(
        ASSIGNMENT_PROBLEMS[name](count, brokers, degree=degree, seed=3), max_delay=1.0
    )
    plan = search(problem, steps=100)
    assert plan.verify().is_valid
    bound = lower_bound(problem, plan.bandwidth)
    assert 0 < bound <= plan.bandwidth
    assert bound == pytest.approx(lower_bound(problem), rel=0.02)


@given(st.data())
@settings(deadline=None)
def test_no_filter_earns_more_than_its_bound(data: st.DataObject) -> None:
    """All pairs of rectangles of a grid are tried, with boxes that only both together cover."""
    ends = st.tuples(st.integers(0, SIDE), st.integers(0, SIDE)).filter(lambda e: e[0] < e[1])
    boxes = np.array(data.draw(st.lists(st.tuples(ends, ends), min_size=1, max_size=5)), np.float64)
    lower, upper = np.unique(boxes, axis=0)[:, :, 0], np.unique(boxes, axis=0)[:, :, 1]
    values = np.array(
        data.draw(st.lists(st.integers(0, 20), min_size=len(lower), max_size=len(lower)))
    ).astype(np.float64)
    problem = make_problem(lower, upper, 1, max_rectangles=2)
    demand = DemandGroups.from_problem(problem)
    class_of_subscriber = demand.class_of_group[demand.group_of_subscriber]
    value_by_class = np.bincount(class_of_subscriber, values, minlength=len(demand.box_classes))
    classes = demand.grid.to_coordinates(demand.box_classes)
    # the number of rectangles that are enumerated
    count = data.draw(st.sampled_from([1, 3, 1_000]))
    said, _ = FilterValueBound.from_boxes(*classes, np.inf, count).find_best(value_by_class, 2)
    assert said >= most_earned(lower, upper, values) - 1e-9


def most_earned(lower: np.ndarray, upper: np.ndarray, values: np.ndarray) -> float:
    """Return the largest value minus volume of a union of two rectangles, cell by cell."""
    box_cells = [cells(low, high) for low, high in zip(lower, upper, strict=True)]
    spans = [(a, b) for a, b in combinations(range(SIDE + 1), 2)]
    all_cells = [cells((x[0], y[0]), (x[1], y[1])) for x, y in product(spans, spans)]
    best = 0.0
    for first, second in combinations(all_cells, 2):
        both = first | second
        earned = sum(v for need, v in zip(box_cells, values, strict=True) if need & both == need)
        best = max(best, earned - both.bit_count())
    return best


def cells(low: tuple[float, ...], high: tuple[float, ...]) -> int:
    """Return the cells of a box as bits."""
    bits = 0
    for x in range(int(low[0]), int(high[0])):
        for y in range(int(low[1]), int(high[1])):
            bits |= 1 << (x * SIDE + y)
    return bits


def test_the_price_bound_knows_max_rectangles() -> None:
    corners = np.array([[0.0, 0.0], [100.0, 30.0], [30.0, 100.0], [150.0, 150.0]])
    problem = make_problem(corners, corners + 1, 1, max_rectangles=3, target_load=1.0, max_load=1.0)
    plan = search(problem, steps=50)
    assert plan.bandwidth == 31 * 101 + 2  # two of the four boxes share one rectangle
    demand = DemandGroups.from_problem(problem)
    assert compute_cell_bound(problem, demand) == pytest.approx(4.0)
    found = compute_price_bound(problem, demand, plan.bandwidth)
    assert 0.9 * plan.bandwidth <= found <= plan.bandwidth * (1 + 1e-6)


def test_greedy_is_far_above_the_bound_and_search_is_not() -> None:
    problem = adversarial()
    start, found = greedy(problem, seed=None), search(adversarial(), steps=500)
    bound = lower_bound(found.problem, found.bandwidth)
    assert found.bandwidth <= 2.5 * bound
    assert start.bandwidth > 50 * bound


def test_the_cell_bound_counts_brokers_per_cell() -> None:
    lower = np.zeros((10, 1))
    problem = make_problem(lower, lower + 2, 5, target_load=1.0, max_load=1.0)
    assert compute_cell_bound(problem, DemandGroups.from_problem(problem)) == pytest.approx(
        10.0
    )  # five brokers with a volume of two
    allowed = np.zeros((10, 5), np.bool_)
    allowed[:5, 0] = allowed[5:, 1] = True  # two groups, each with its own broker
    apart = replace(problem, allowed_leaves=allowed, target_load=3.0, max_load=3.0)
    assert compute_cell_bound(apart, DemandGroups.from_problem(apart)) == pytest.approx(4.0)
    events = np.array([[0.5], [1.0], [2.0], [7.0]])
    assert compute_cell_bound(
        replace(apart, event_sample=events),
        DemandGroups.from_problem(replace(apart, event_sample=events)),
    ) == pytest.approx(1.5)  # two brokers must receive three of four events


def test_the_cell_bound_counts_brokers_above_leaves() -> None:
    tree = BrokerTree.from_arrays([0.0], [[1.0], [1.0], [1.0]], parents=[-1, 0, 0])
    subscribers = Subscribers.from_arrays(np.ones((4, 1)), np.zeros((4, 1)), np.ones((4, 1)))
    problem = Problem(tree, subscribers, target_load=1.0, max_load=1.0)
    assert compute_cell_bound(problem, DemandGroups.from_problem(problem)) == pytest.approx(3.0)
