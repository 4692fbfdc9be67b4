"""Maximum flow: the leaves that serve the subscribers of each leaf set, within capacities.

Subscribers with the same leaf set are one vertex, so that the graph does not grow with the number
of subscribers. (papers: assignment)
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
    """Return the number of subscribers of each leaf set (row) that each leaf (column) serves.

    As many subscribers as possible are served.

    Args:
        leaf_sets: the leaves of each set, a row for each set.
        leaf_set_counts: the number of subscribers of each set.
        capacities: the capacity of each leaf.

    Raises:
        CoveyError: if scipy is not installed.

    Cost: that of a maximum flow with a vertex for each set and leaf; a second for 10,000 sets.
    """
    try:
        from scipy.sparse import csr_matrix
        from scipy.sparse.csgraph import maximum_flow
    except ImportError as missing:
        raise CoveyError("maximum flows need scipy: pip install 'covey[plan]'") from missing
    s, leaves = leaf_sets.shape
    rows, columns = np.nonzero(leaf_sets)
    source, sink = s + leaves, s + leaves + 1
    begins = np.concatenate([np.full(s, source), rows, s + np.arange(leaves)])
    ends = np.concatenate([np.arange(s), s + columns, np.full(leaves, sink)])
    edge_capacities = np.concatenate([leaf_set_counts, leaf_set_counts[rows], capacities]).astype(
        np.int32
    )
    graph = csr_matrix((edge_capacities, (begins, ends)), shape=(sink + 1, sink + 1))
    flow = maximum_flow(graph, source, sink).flow
    served = np.asarray(flow[:s, s : s + leaves].todense(), np.int64)
    return served


def find_min_load_factor(
    leaf_sets: Bools, leaf_set_counts: Ints, fair_shares: NDArray[np.float64]
) -> tuple[float, Ints]:
    """Return the smallest load factor at which all subscribers can be served, and the flow.

    The factor is at least 1, and at most a thousandth too large. The flow is the array that
    `solve_max_flow` returns. Every leaf set must contain a leaf.
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
        counts = at(middle)
        if counts.sum() == total:
            high, best = middle, counts
        else:
            low = middle
    return high, best
