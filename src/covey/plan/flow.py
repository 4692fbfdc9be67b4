"""How many subscribers of each set of leaves each leaf serves, within its room: a maximum flow.

Subscribers who may go to the same leaves are one vertex, so the graph does not grow with their
number. (papers: assignment)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covey.errors import CoveyError
from covey.plan.problem import rooms

__all__ = ["flow", "least_factor"]

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]


def flow(sets: Bools, counts: Ints, most: Ints) -> Ints:
    """Row s: how many of the `counts[s]` that may go to `sets[s]` each leaf gets; as many as fit.

    Cost: that of a maximum flow with a vertex for each set and leaf; a second for 10,000 sets.
    """
    try:
        from scipy.sparse import csr_matrix
        from scipy.sparse.csgraph import maximum_flow
    except ImportError as missing:
        raise CoveyError("flows need scipy: pip install 'covey[plan]'") from missing
    s, leaves = sets.shape
    rows, columns = np.nonzero(sets)
    source, sink = s + leaves, s + leaves + 1
    begins = np.concatenate([np.full(s, source), rows, s + np.arange(leaves)])
    ends = np.concatenate([np.arange(s), s + columns, np.full(leaves, sink)])
    room = np.concatenate([counts, counts[rows], most]).astype(np.int32)
    graph = csr_matrix((room, (begins, ends)), shape=(sink + 1, sink + 1))
    found = maximum_flow(graph, source, sink).flow
    served = np.asarray(found[:s, s : s + leaves].todense(), np.int64)
    return served


def least_factor(sets: Bools, counts: Ints, shares: NDArray[np.float64]) -> tuple[float, Ints]:
    """The least load factor at which all find room, to a thousandth; and who goes where then.

    Every set has a leaf.
    """
    total = int(counts.sum())

    def at(factor: float) -> Ints:
        return flow(sets, counts, rooms(shares, factor, total))

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
