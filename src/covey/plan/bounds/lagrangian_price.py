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

from covey.plan.bounds.filter_value import FilterValueBound
from covey.plan.groups.demand_groups import DemandGroups
from covey.plan.lp.solver import make_solver
from covey.plan.model.problem import Problem

__all__ = ["compute_price_bound"]

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

_MAX_BOX_CLASSES = 60  # kinds of boxes
_MAX_RECTANGLES = 2_000  # of which all triples are gone through, but for what prices exclude
_MAX_ROUNDS = 200
_STEP_SIZE = 0.2  # from the best prices to those of the cutting planes
_GAP_TOLERANCE = 0.002  # of the plan's bandwidth, between the bound and what it could become


def compute_price_bound(problem: Problem, demand: DemandGroups, upper_bound: float) -> float:
    """A bandwidth below which there is no plan; 0 if there are too many kinds of boxes.

    `upper_bound` is the bandwidth of some plan: filters of more than that are of no use.
    """
    flat, has_few = (
        problem.subscribers.lower.shape[1] == 2,
        len(demand.box_classes) <= _MAX_BOX_CLASSES,
    )
    is_exact = problem.event_sample is None and demand.grid.is_exact
    if not (is_exact and flat and has_few and problem.max_rectangles <= 3):
        return 0.0
    earning = FilterValueBound.from_boxes(
        *demand.grid.to_coordinates(demand.box_classes), upper_bound, _MAX_RECTANGLES
    )
    return _CuttingPlanes(problem, demand, earning).maximize_bound(upper_bound)


class _CuttingPlanes:
    """Prices, rents, and the planes that cut off what is too good: columns q, rents, E."""

    def __init__(
        self, problem: Problem, demand: DemandGroups, filter_values: FilterValueBound
    ) -> None:
        self.filter_values, self.max_rectangles = filter_values, problem.max_rectangles
        self.class_of_group, self.class_count = (
            demand.class_of_group.astype(np.int64),
            len(demand.box_classes),
        )
        self.may_serve = demand.leaf_sets[demand.leaf_set_of_group]
        self.capacities = np.maximum(1.0, problem.compute_capacities(problem.max_load))
        self.group_sizes = demand.group_sizes.astype(np.float64)

    def maximize_bound(self, upper_bound: float) -> float:
        groups, leaves = self.may_serve.shape
        costs = np.r_[-np.ones(groups), np.ones(2 * leaves)]
        ends = np.r_[
            np.full(groups, upper_bound), np.full(leaves, 4 * upper_bound), np.full(leaves, np.inf)
        ]
        run = make_solver(costs, ends, np.zeros((0, len(costs))), np.empty(0), np.empty(0))
        self._add_initial_planes(run)
        best, at = -np.inf, np.zeros(groups + leaves)
        for number in range(_MAX_ROUNDS):
            run.run()
            could = -run.getInfo().objective_function_value
            if could - best < _GAP_TOLERANCE * upper_bound:
                break
            found = np.asarray(run.getSolution().col_value)[: groups + leaves]
            tried = found if number == 0 else at + _STEP_SIZE * (found - at)
            earned = self._add_violated_planes(run, tried)
            value = tried[:groups].sum() - tried[groups:].sum() - earned
            if value > best:
                best, at = value, tried
        return max(0.0, float(best))

    def _add_initial_planes(self, run: Any) -> None:
        """Planes for filters of one box: without them the first prices are as high as may be."""
        one = self.filter_values.rectangles
        for mask, size in zip(one.masks.tolist(), one.sizes.tolist(), strict=True):
            if mask.bit_count() == 1:
                for leaf, may in enumerate(self.may_serve.T):
                    self._add_plane(run, leaf, may, mask, size)

    def _add_violated_planes(self, run: Any, multipliers: Floats) -> float:
        """What leaves earn at these prices and rents; a plane more for each that earns."""
        groups, leaves = self.may_serve.shape
        prices, rents = multipliers[:groups], multipliers[groups:] / self.capacities
        total = 0.0
        for leaf in range(leaves):
            left = np.where(self.may_serve[:, leaf], prices - self.group_sizes * rents[leaf], 0.0)
            left = np.maximum(0.0, left)
            values = np.bincount(self.class_of_group, left, minlength=self.class_count)
            earned, mask = self.filter_values.find_best(
                values.astype(np.float64), self.max_rectangles
            )
            total += earned
            is_in = mask >> self.class_of_group & 1 == 1
            self._add_plane(run, leaf, left > 0, mask, left[is_in].sum() - earned)
        return total

    def _add_plane(
        self, run: Any, leaf: int, is_paying_group: Bools, mask: int, volume: float
    ) -> None:
        """A leaf earns at least what these groups pay for the boxes of a mask, less a volume."""
        groups, leaves = self.may_serve.shape
        rows = np.flatnonzero(is_paying_group & (mask >> self.class_of_group & 1 == 1))
        if len(rows):
            places = self.group_sizes[rows].sum() / self.capacities[leaf]
            at = np.r_[rows, groups + leaf, groups + leaves + leaf].astype(np.int32)
            run.addRow(-volume, np.inf, len(at), at, np.r_[-np.ones(len(rows)), places, 1.0])
