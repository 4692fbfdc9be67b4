"""Lower bound from prices on groups and rents on leaves, for a few box classes.

Group g pays q_g in total, and every unit of capacity at leaf b costs a rent. A leaf earns what the
groups within its filter pay, less their rents, less the volume of the filter. Let E_b be the most
that leaf b can earn with any filter. Then every plan has a bandwidth of at least the sum of all
q_g, less all rents at full load, less all E_b, because in a plan every subscriber is served within
the capacity of a leaf that may serve it. This holds for all prices and rents; the best ones are
found by cutting planes.
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

_MAX_BOX_CLASSES = 60
_MAX_RECTANGLES = 2_000  # all triples of them are enumerated, except those that prices exclude
_MAX_ROUNDS = 200
_STEP_SIZE = 0.2  # share of the way from the best prices to those of the cutting planes
_GAP_TOLERANCE = 0.002  # stop if the bound can grow by less than this share of `upper_bound`


def compute_price_bound(problem: Problem, demand: DemandGroups, upper_bound: float) -> float:
    """Return a bandwidth that no valid plan can go below; 0 if the method does not apply.

    The method applies if there is no event sample, boxes have two dimensions and exact cells, there
    are at most 60 box classes, and `max_rectangles` is at most 3. `upper_bound` is the bandwidth of
    a valid plan: larger filters are not considered.
    """
    is_planar, has_few = (
        problem.subscribers.lower.shape[1] == 2,
        len(demand.box_classes) <= _MAX_BOX_CLASSES,
    )
    is_exact = problem.event_sample is None and demand.grid.is_exact
    if not (is_exact and is_planar and has_few and problem.max_rectangles <= 3):
        return 0.0
    filter_values = FilterValueBound.from_boxes(
        *demand.grid.to_coordinates(demand.box_classes), upper_bound, _MAX_RECTANGLES
    )
    return _CuttingPlanes(problem, demand, filter_values).maximize_bound(upper_bound)


class _CuttingPlanes:
    """Cutting planes of the Lagrangian bound, as rows of a linear program.

    The columns of the program are the prices of groups, the rents of leaves at full load, and the
    earnings E of leaves, in this order.
    """

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
        """Return the largest bound that the cutting planes reach, at least 0."""
        groups, leaves = self.may_serve.shape
        costs = np.r_[-np.ones(groups), np.ones(2 * leaves)]
        ends = np.r_[
            np.full(groups, upper_bound), np.full(leaves, 4 * upper_bound), np.full(leaves, np.inf)
        ]
        run = make_solver(costs, ends, np.zeros((0, len(costs))), np.empty(0), np.empty(0))
        self._add_initial_planes(run)
        best, best_multipliers = -np.inf, np.zeros(groups + leaves)
        for number in range(_MAX_ROUNDS):
            run.run()
            possible = -run.getInfo().objective_function_value
            if possible - best < _GAP_TOLERANCE * upper_bound:
                break
            solution = np.asarray(run.getSolution().col_value)[: groups + leaves]
            multipliers = (
                solution
                if number == 0
                else best_multipliers + _STEP_SIZE * (solution - best_multipliers)
            )
            earned = self._add_violated_planes(run, multipliers)
            value = multipliers[:groups].sum() - multipliers[groups:].sum() - earned
            if value > best:
                best, best_multipliers = value, multipliers
        return max(0.0, float(best))

    def _add_initial_planes(self, run: Any) -> None:
        """Add a plane for each filter of one box and each leaf.

        Without them, the first solution would set all prices to their upper limits.
        """
        rectangles = self.filter_values.rectangles
        for mask, size in zip(rectangles.masks.tolist(), rectangles.sizes.tolist(), strict=True):
            if mask.bit_count() == 1:
                for leaf, may_serve in enumerate(self.may_serve.T):
                    self._add_plane(run, leaf, may_serve, mask, size)

    def _add_violated_planes(self, run: Any, multipliers: Floats) -> float:
        """Add a plane for the best filter of each leaf; return the sum of what the leaves earn.

        `multipliers` contains the prices of groups, then the rents of leaves at full load.
        """
        groups, leaves = self.may_serve.shape
        prices, rents = multipliers[:groups], multipliers[groups:] / self.capacities
        total = 0.0
        for leaf in range(leaves):
            surplus = np.where(
                self.may_serve[:, leaf], prices - self.group_sizes * rents[leaf], 0.0
            )
            surplus = np.maximum(0.0, surplus)
            values = np.bincount(self.class_of_group, surplus, minlength=self.class_count)
            earned, mask = self.filter_values.find_best(
                values.astype(np.float64), self.max_rectangles
            )
            total += earned
            is_in = mask >> self.class_of_group & 1 == 1
            self._add_plane(run, leaf, surplus > 0, mask, surplus[is_in].sum() - earned)
        return total

    def _add_plane(
        self, run: Any, leaf: int, is_paying_group: Bools, mask: int, volume: float
    ) -> None:
        """Add the cutting plane of one filter: a lower limit on what its leaf can earn.

        The limit is what the groups in the filter pay, less their rents and the filter's volume.

        Args:
            run: the solver.
            leaf: the leaf.
            is_paying_group: the groups whose payments and rents are counted. Any subset of the
                groups that the leaf may serve gives a valid limit.
            mask: the boxes that the filter contains, one bit for each box class.
            volume: the volume of the filter.
        """
        groups, leaves = self.may_serve.shape
        rows = np.flatnonzero(is_paying_group & (mask >> self.class_of_group & 1 == 1))
        if len(rows):
            load_share = self.group_sizes[rows].sum() / self.capacities[leaf]
            columns = np.r_[rows, groups + leaf, groups + leaves + leaf].astype(np.int32)
            run.addRow(
                -volume, np.inf, len(columns), columns, np.r_[-np.ones(len(rows)), load_share, 1.0]
            )
