"""Subscribers who are alike, put together: the same box, and the same brokers near enough.

What is planned with then does not grow with the number of subscribers, only with how many different
ones there are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from covey.plan.cells import Boxes, Cells
from covey.plan.filters import Filters
from covey.plan.kernels.unions import Measure
from covey.plan.problem import Problem
from covey.plan.reach import distinct, near_leaves, unpacked

__all__ = ["Demand"]

Bools = NDArray[np.bool_]
Numbers = NDArray[np.int32]

_CELLS = 1 << 24  # of a table that counts events
_CUTS = 1024  # of an axis


@dataclass(frozen=True, slots=True)
class Demand:
    """Kinds of boxes, sets of leaves, and groups that have one of each.

    Subscriber s is of group `group_of[s]`; group g wants `kinds[kind_of[g]]`, may be served by
    `sets[set_of[g]]`, and has `counts[g]` subscribers.

    Cost: a distance for each subscriber and leaf, and a sort of the subscribers.
    """

    cells: Cells
    measure: Measure
    kinds: Boxes
    sets: Bools
    kind_of: Numbers
    set_of: Numbers
    counts: NDArray[np.int64]
    group_of: Numbers

    @property
    def set_counts(self) -> NDArray[np.int64]:
        """How many subscribers have each set of leaves."""
        found = np.bincount(self.set_of, self.counts, minlength=len(self.sets))
        return found.astype(np.int64)

    @classmethod
    def of(
        cls,
        problem: Problem,
        *,
        with_latency: bool = True,
        weights: NDArray[np.int64] | None = None,
        filters: Filters | None = None,
        is_inner: bool = False,
    ) -> Demand:
        """The groups of a problem; without latency every leaf may serve everybody.

        With weights, subscriber s counts as `weights[s]`. Ends of `filters` are cuts, too. Where
        there are too many, boxes are wider than what is wanted, or if `is_inner` narrower.
        """
        lower, upper = problem.subscribers.lower, problem.subscribers.upper
        d = lower.shape[1]
        most = _CUTS if problem.events is None else min(_CUTS, round(_CELLS ** (1 / d)) // 2)
        if filters is None:
            cells = Cells.of(lower, upper, most)
        else:
            low, high = filters.rectangles
            cells = Cells.of(np.concatenate([lower, low]), np.concatenate([upper, high]), most)
        measure = cells.volumes if problem.events is None else cells.counted(problem.events)
        kinds, kind_of = distinct((cells.inner if is_inner else cells.boxes)(lower, upper))
        leaves = len(problem.tree.leaves)
        if with_latency:
            bits, set_of = distinct(near_leaves(problem))
            sets = unpacked(bits, leaves)
        else:
            sets = np.ones((1, leaves), np.bool_)
            set_of = np.zeros(len(kind_of), np.int32)
        groups, group_of = distinct(np.stack([kind_of, set_of], axis=1))
        counts = np.bincount(group_of, weights, minlength=len(groups)).astype(np.int64)
        kind_of, set_of = np.ascontiguousarray(groups.T)
        return cls(cells, measure, kinds, sets, kind_of, set_of, counts, group_of)
