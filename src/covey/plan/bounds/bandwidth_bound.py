"""A bandwidth that no plan can go below."""

from __future__ import annotations

import numpy as np

from covey.plan.bounds.cell_cover import compute_cell_bound
from covey.plan.bounds.lagrangian_price import compute_price_bound
from covey.plan.groups.demand_groups import DemandGroups
from covey.plan.model.plan import Plan

__all__ = ["lower_bound"]


def lower_bound(plan: Plan) -> float:
    """A bandwidth that no valid plan of the same problem can go below, at `max_load`.

    It is the better of two: one that looks at points of event space and does not know how many
    rectangles a filter may have, so that it is a fourth to a seventh of good plans where boxes are
    of all sizes; and one from prices, for at most sixty kinds of boxes and three rectangles, which
    comes within a third where filters are small, and is a third to an eighth where they are large.

    Cost: 10 to 30 seconds for 100 brokers, 100 where filters are large.

    >>> from covey.plan import greedy
    >>> from covey.plan.workload.problems import make_topics_problem
    >>> plan = greedy(make_topics_problem(500, 5))
    >>> 0 < lower_bound(plan) <= plan.bandwidth
    True
    """
    demand = DemandGroups.from_problem(plan.problem, round_inward=True)
    most = plan.bandwidth
    if not plan.verify().is_valid:  # others may need more
        whole = demand.grid.axes if plan.problem.event_sample is None else ()
        most = len(plan.problem.tree) * float(np.prod([axis[-1] - axis[0] for axis in whole]))
    prices = compute_price_bound(plan.problem, demand, most)
    return max(prices, compute_cell_bound(plan.problem, demand))
