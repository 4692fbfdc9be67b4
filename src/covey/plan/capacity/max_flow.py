"""How many subscribers of each set of leaves each leaf serves, within its room: a maximum flow.

Subscribers who may go to the same leaves are one vertex, so the graph does not grow with their
number. (papers: assignment)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covey.errors import CoveyError
from covey.plan.model.problem import compute_leaf_capacities

__all__ = ["find_min_load_factor", "solve_max_flow"]

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]


def solve_max_flow(leaf_sets: Bools, leaf_set_counts: Ints, capacities: Ints) -> Ints:
    """Row s: how many of the `counts[s]` that may go to `sets[s]` each leaf gets; as many as fit.

    Cost: that of a maximum flow with a vertex for each set and leaf; a second for 10,000 sets.
    """
    try:
        from scipy.sparse import csr_matrix
        from scipy.sparse.csgraph import maximum_flow
    except ImportError as missing:
        raise CoveyError("flows need scipy: pip install 'covey[plan]'") from missing
    s, leaves = leaf_sets.shape
    rows, columns = np.nonzero(leaf_sets)
    source, sink = s + leaves, s + leaves + 1
    begins = np.concatenate([np.full(s, source), rows, s + np.arange(leaves)])
    ends = np.concatenate([np.arange(s), s + columns, np.full(leaves, sink)])
    room = np.concatenate([leaf_set_counts, leaf_set_counts[rows], capacities]).astype(np.int32)
    graph = csr_matrix((room, (begins, ends)), shape=(sink + 1, sink + 1))
    found = maximum_flow(graph, source, sink).flow
    served = np.asarray(found[:s, s : s + leaves].todense(), np.int64)
    return served


def find_min_load_factor(
    leaf_sets: Bools, leaf_set_counts: Ints, fair_shares: NDArray[np.float64]
) -> tuple[float, Ints]:
    """The least load factor at which all find room, to a thousandth; and who goes where then.

    Every set has a leaf.
    """
    total = int(leaf_set_counts.sum())

    def at(factor: float) -> Ints:
        return solve_max_flow(
            leaf_sets, leaf_set_counts, compute_leaf_capacities(fair_shares, factor, total)
        )

    low, high = 1.0, 2.0
    best = at(high)
    while best.sum() < total:
        low, high = high, 2 * high
        best = at(high)
    while high - low > 1e-3:
        middle = (low + high) / 2
        found = at(middle)
        if found.sum() == total:
            high, best = middle, found
        else:
            low = middle
    return high, best
