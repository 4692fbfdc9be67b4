"""A bound from prices that no broker can beat, for a few kinds of boxes.

Say group g of subscribers pays q_g in all, and a place at leaf b costs rent. A leaf that serves
what is within a filter earns what these groups pay, less their rents, less the filter's volume. If
E_b is the most that leaf b can earn by any filter, then every plan has a bandwidth of at least the
sum of all q, less all rents at full load, less all E_b: for in a plan everybody is served within
the room of a leaf that is near. The best prices are found by cutting planes; any prices are right.

Filters are unions of least boxes round what they contain, of which all are gone through. Where two
rectangles cover a box together that neither contains, both meet it; so of filters of which two
rectangles have a box in common, all rectangles are taken as smaller, by the widest box on every
side: of three rectangles one has a side of every box, or they do not cover its four corners.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey.plan.demand import Demand
from covey.plan.highs import solver
from covey.plan.kernels.best import best_few
from covey.plan.problem import Problem

__all__ = ["price_bound"]

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_FEW = 60  # kinds of boxes
_MOST_RECTANGLES = 3_000
_ROUNDS = 200
_STEP = 0.2  # from the best prices to those of the cutting planes
_ENOUGH = 0.002  # of the plan's bandwidth, between the bound and what it could become


def price_bound(problem: Problem, demand: Demand, most: float) -> float:
    """A bandwidth below which there is no plan; 0 if there are too many kinds of boxes.

    `most` is the bandwidth of some plan: filters of more than that are of no use.
    """
    flat = problem.subscribers.lower.shape[1] == 2
    if problem.events is not None or problem.alpha > 3 or not flat or len(demand.kinds) > _FEW:
        return 0.0
    ends = demand.cells.ends(demand.kinds)
    whole, smaller = (_Rectangles.of(*ends, most, less) for less in (0.0, 1.0))
    if len(smaller.sizes) > _MOST_RECTANGLES:
        return 0.0
    return _Prices(problem, demand, whole, smaller).bound(most)


@dataclass(frozen=True, slots=True)
class _Rectangles:
    """Those round some boxes, and which boxes are in each: a bit for every one."""

    masks: Ints
    lower: Floats
    upper: Floats
    sizes: Floats

    @classmethod
    def of(cls, lower: Floats, upper: Floats, most: float, less: float) -> _Rectangles:
        """All of at most some volume, smaller by so many widest boxes on every side."""
        masks = _all_masks(lower, upper)
        low = np.full((len(masks), lower.shape[1]), np.inf)
        high = -low
        for row in range(len(lower)):
            has = (masks >> row & 1).astype(np.bool_)
            low[has] = np.minimum(low[has], lower[row])
            high[has] = np.maximum(high[has], upper[row])
        by, middle = less * (upper - lower).max(axis=0), (low + high) / 2
        low, high = np.minimum(low + by, middle), np.maximum(high - by, middle)
        sizes = (high - low).prod(axis=1)
        kept = sizes <= most
        return cls(masks[kept], low[kept], high[kept], sizes[kept])


def _all_masks(lower: Floats, upper: Floats) -> Ints:
    """For each box that encloses some of a few, which ones it contains."""
    bits = np.int64(1) << np.arange(len(lower))
    masks = np.array([-1], np.int64)
    for k in range(lower.shape[1]):
        begins, ends = np.unique(lower[:, k]), np.unique(upper[:, k])
        is_in = begins[:, None, None] <= lower[:, k]
        is_in = is_in & (ends[None, :, None] >= upper[:, k])
        on_axis = np.unique((is_in * bits).sum(axis=2))
        masks = np.unique(masks[:, None] & on_axis[None])
    found: Ints = masks[masks != 0]
    return found


class _Prices:
    """Prices, rents, and the planes that cut off what is too good: columns q, rents, E."""

    def __init__(
        self, problem: Problem, demand: Demand, whole: _Rectangles, smaller: _Rectangles
    ) -> None:
        self.whole, self.smaller, self.alpha = whole, smaller, problem.alpha
        self.kind_of, self.kinds = demand.kind_of.astype(np.int64), len(demand.kinds)
        self.may = demand.sets[demand.set_of]
        self.room = problem.most(problem.most_load).astype(np.float64)
        self.counts = demand.counts.astype(np.float64)

    def bound(self, most: float) -> float:
        groups, leaves = self.may.shape
        costs = np.r_[-np.ones(groups), np.ones(2 * leaves)]
        ends = np.r_[np.full(groups, most), np.full(leaves, 4 * most), np.full(leaves, np.inf)]
        run = solver(costs, ends, np.zeros((0, len(costs))), np.empty(0), np.empty(0))
        best, at = -np.inf, np.zeros(groups + leaves)
        for number in range(_ROUNDS):
            run.run()
            could = -run.getInfo().objective_function_value
            if could - best < _ENOUGH * most:
                break
            found = np.asarray(run.getSolution().col_value)[: groups + leaves]
            tried = found if number == 0 else at + _STEP * (found - at)
            earned = self._cut(run, tried)
            value = tried[:groups].sum() - tried[groups:].sum() - earned
            if value > best:
                best, at = value, tried
        return max(0.0, float(best))

    def _cut(self, run: Any, tried: Floats) -> float:
        """What leaves earn at these prices and rents; a plane more for each that earns."""
        groups, leaves = self.may.shape
        prices, rents = tried[:groups], tried[groups:] / self.room
        total = 0.0
        for leaf in range(leaves):
            left = np.where(self.may[:, leaf], prices - self.counts * rents[leaf], 0.0)
            left = np.maximum(0.0, left)
            values = np.bincount(self.kind_of, left, minlength=self.kinds)
            earned, mask = self._best(values.astype(np.float64))
            total += earned
            rows = np.flatnonzero((left > 0) & (mask >> self.kind_of & 1).astype(np.bool_))
            if len(rows):
                volume = left[rows].sum() - earned
                places = self.counts[rows].sum() / self.room[leaf]
                at = np.r_[rows, groups + leaf, groups + leaves + leaf].astype(np.int32)
                run.addRow(-volume, np.inf, len(at), at, np.r_[-np.ones(len(rows)), places, 1.0])
        return total

    def _best(self, values: Floats) -> tuple[float, int]:
        """The most that a leaf can earn, and by which kinds of boxes, a bit for each."""
        best, mask = 0.0, 0
        for r, is_shared in ((self.whole, False), (self.smaller, True)):
            chosen = np.full(3, -1, np.int64)
            earned = best_few(
                values, r.masks, r.lower, r.upper, r.sizes, self.alpha, is_shared, best, chosen
            )
            if earned > best:
                best = earned
                mask = int(np.bitwise_or.reduce(r.masks[chosen[chosen >= 0]]))
        return best, mask
