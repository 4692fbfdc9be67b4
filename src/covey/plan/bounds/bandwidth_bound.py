"""A bandwidth that no plan can go below."""

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
    """Return a bandwidth that no valid plan of a problem can go below, at `max_load`.

    It is the better of two: one that looks at points of event space and does not know how many
    rectangles a filter may have, so that it is a fourth to a seventh of good plans where boxes are
    of all sizes; and one from prices, for at most sixty kinds of boxes and three rectangles, which
    comes within a third where filters are small, and is a third to an eighth where they are large.

    Args:
        problem: what plans are made for.
        upper_bound: the bandwidth of a valid plan, the less the better; `greedy` makes a plan if
            none is given. Larger filters are not looked at, so that with the bandwidth of an
            invalid plan, too little for any valid one, what is returned is no bound.

    Cost: 10 to 30 seconds for 100 brokers, 100 where filters are large.

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
    prices = compute_price_bound(problem, demand, upper_bound)
    return max(prices, compute_cell_bound(problem, demand))


def _largest_bandwidth(problem: Problem, demand: DemandGroups) -> float:
    """Return what plans need whose filters are all of event space."""
    whole = demand.grid.axes if problem.event_sample is None else ()
    return len(problem.tree) * float(np.prod([axis[-1] - axis[0] for axis in whole]))
