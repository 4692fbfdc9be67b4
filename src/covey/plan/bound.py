"""A bandwidth that no plan can go below."""

from __future__ import annotations

import numpy as np

from covey.plan.cell_bound import cell_bound
from covey.plan.demand import Demand
from covey.plan.plan import Plan
from covey.plan.price_bound import price_bound

__all__ = ["lower_bound"]


def lower_bound(plan: Plan) -> float:
    """A bandwidth that no valid plan of the same problem can go below, at `most_load`.

    It is the better of two: one that looks at points of event space and does not know how many
    rectangles a filter may have, so that it is a fourth to a seventh of good plans where boxes are
    of all sizes; and one from prices, for at most sixty kinds of boxes and three rectangles, which
    comes within a third where filters are small, and is a third to an eighth where they are large.

    Cost: 10 to 30 seconds for 100 brokers, 100 where filters are large.

    >>> from covey.plan import greedy
    >>> from covey.plan.sets import topics
    >>> plan = greedy(topics(500, 5))
    >>> 0 < lower_bound(plan) <= plan.bandwidth
    True
    """
    demand = Demand.of(plan.problem, is_inner=True)
    most = plan.bandwidth
    if not plan.verify().is_valid:  # others may need more
        whole = demand.cells.axes if plan.problem.events is None else ()
        most = len(plan.problem.tree) * float(np.prod([axis[-1] - axis[0] for axis in whole]))
    prices = price_bound(plan.problem, demand, most)
    return max(prices, cell_bound(plan.problem, demand))
