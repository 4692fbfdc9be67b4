"""A bound from prices that no broker can beat, for a few kinds of boxes.

Say group g of subscribers pays q_g in all, and a place at leaf b costs rent. A leaf that serves
what is within a filter earns what these groups pay, less their rents, less the filter's volume. If
E_b is the most that leaf b can earn by any filter, then every plan has a bandwidth of at least the
sum of all q, less all rents at full load, less all E_b: for in a plan everybody is served within
the room of a leaf that is near. The best prices are found by cutting planes; any prices are right.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey.plan.demand import Demand
from covey.plan.earning import Earning
from covey.plan.highs import solver
from covey.plan.problem import Problem

__all__ = ["price_bound"]

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

_FEW = 60  # kinds of boxes
_MOST_RECTANGLES = 2_000  # of which all triples are gone through, but for what prices exclude
_ROUNDS = 200
_STEP = 0.2  # from the best prices to those of the cutting planes
_ENOUGH = 0.002  # of the plan's bandwidth, between the bound and what it could become


def price_bound(problem: Problem, demand: Demand, most: float) -> float:
    """A bandwidth below which there is no plan; 0 if there are too many kinds of boxes.

    `most` is the bandwidth of some plan: filters of more than that are of no use.
    """
    flat, has_few = problem.subscribers.lower.shape[1] == 2, len(demand.kinds) <= _FEW
    is_exact = problem.events is None and demand.cells.is_exact
    if not (is_exact and flat and has_few and problem.alpha <= 3):
        return 0.0
    earning = Earning.of(*demand.cells.ends(demand.kinds), most, _MOST_RECTANGLES)
    return _Prices(problem, demand, earning).bound(most)


class _Prices:
    """Prices, rents, and the planes that cut off what is too good: columns q, rents, E."""

    def __init__(self, problem: Problem, demand: Demand, earning: Earning) -> None:
        self.earning, self.alpha = earning, problem.alpha
        self.kind_of, self.kinds = demand.kind_of.astype(np.int64), len(demand.kinds)
        self.may = demand.sets[demand.set_of]
        self.room = np.maximum(1.0, problem.most(problem.most_load))
        self.counts = demand.counts.astype(np.float64)

    def bound(self, most: float) -> float:
        groups, leaves = self.may.shape
        costs = np.r_[-np.ones(groups), np.ones(2 * leaves)]
        ends = np.r_[np.full(groups, most), np.full(leaves, 4 * most), np.full(leaves, np.inf)]
        run = solver(costs, ends, np.zeros((0, len(costs))), np.empty(0), np.empty(0))
        self._first(run)
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

    def _first(self, run: Any) -> None:
        """Planes for filters of one box: without them the first prices are as high as may be."""
        one = self.earning.whole
        for mask, size in zip(one.masks.tolist(), one.sizes.tolist(), strict=True):
            if mask.bit_count() == 1:
                for leaf, may in enumerate(self.may.T):
                    self._plane(run, leaf, may, mask, size)

    def _cut(self, run: Any, tried: Floats) -> float:
        """What leaves earn at these prices and rents; a plane more for each that earns."""
        groups, leaves = self.may.shape
        prices, rents = tried[:groups], tried[groups:] / self.room
        total = 0.0
        for leaf in range(leaves):
            left = np.where(self.may[:, leaf], prices - self.counts * rents[leaf], 0.0)
            left = np.maximum(0.0, left)
            values = np.bincount(self.kind_of, left, minlength=self.kinds)
            earned, mask = self.earning.best(values.astype(np.float64), self.alpha)
            total += earned
            is_in = mask >> self.kind_of & 1 == 1
            self._plane(run, leaf, left > 0, mask, left[is_in].sum() - earned)
        return total

    def _plane(self, run: Any, leaf: int, who: Bools, mask: int, volume: float) -> None:
        """A leaf earns at least what these groups pay for the boxes of a mask, less a volume."""
        groups, leaves = self.may.shape
        rows = np.flatnonzero(who & (mask >> self.kind_of & 1 == 1))
        if len(rows):
            places = self.counts[rows].sum() / self.room[leaf]
            at = np.r_[rows, groups + leaf, groups + leaves + leaf].astype(np.int32)
            run.addRow(-volume, np.inf, len(at), at, np.r_[-np.ones(len(rows)), places, 1.0])
