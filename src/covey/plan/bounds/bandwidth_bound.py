"""Lower bound of the bandwidth: the larger of two bounds."""

from __future__ import annotations

import numpy as np

from covey._argument_checks import check_arguments
from covey.plan.bounds.cell_cover import compute_cell_bound
from covey.plan.bounds.lagrangian_price import compute_price_bound
from covey.plan.greedy_assignment import greedy
from covey.plan.groups.demand_groups import DemandGroups
from covey.plan.model.problem import Problem

__all__ = ["lower_bound"]


@check_arguments
def lower_bound(problem: Problem, upper_bound: float | None = None) -> float:
    """Return a bandwidth that no valid plan can go below, even with loads up to `max_load`.

    The larger of two bounds is returned. The cell bound considers points of event space and ignores
    the limit on rectangles. If the sizes of boxes vary widely, the bandwidth of good plans is four
    to seven times this bound. The price bound is computed only if there is no event sample, boxes
    have two dimensions and belong to at most 60 box classes, and `max_rectangles` is at most 3. The
    bandwidth of good plans exceeds this bound by up to a third if filters are small, and is three
    to eight times this bound if filters are large.

    Args:
        problem: the problem of the plans.
        upper_bound: the bandwidth of a valid plan, the smaller the better; by default that of a
            greedy plan. The result holds only if a valid plan with at most this bandwidth exists,
            because larger filters are not considered.

    Raises:
        CoveyError: if highspy or scipy is not installed.

    Cost: 10 to 30 seconds for 100 brokers, 100 seconds if filters are large.

    >>> from covey.plan import greedy
    >>> from covey.plan.workload.problems import make_topics_problem
    >>> problem = make_topics_problem(500, 5)
    >>> plan = greedy(problem)
    >>> plan.verify().is_valid and 0 < lower_bound(problem, plan.bandwidth) <= plan.bandwidth
    True
    """
    demand = DemandGroups.from_problem(problem, round_inward=True)
    if upper_bound is None:
        plan = greedy(problem)
        upper_bound = (
            plan.bandwidth if plan.verify().is_valid else _largest_bandwidth(problem, demand)
        )
    price_bound = compute_price_bound(problem, demand, upper_bound)
    return max(price_bound, compute_cell_bound(problem, demand))


def _largest_bandwidth(problem: Problem, demand: DemandGroups) -> float:
    """Return the bandwidth of a plan in which every broker receives everything.

    The filter of each broker is then the bounding box of all boxes. With an event sample, every
    broker receives all events.
    """
    axes = demand.grid.axes if problem.event_sample is None else ()
    return len(problem.tree) * float(np.prod([axis[-1] - axis[0] for axis in axes]))
