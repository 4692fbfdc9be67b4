"""Groups of equal subscribers: the same box, and the same leaves that may serve them.

The cost of planning grows with the number of groups, not with the number of subscribers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from covey.plan.groups.event_grid import Boxes, EventGrid
from covey.plan.groups.leaf_sets import find_leaves_within_delay, find_unique_rows, unpack_leaf_sets
from covey.plan.kernels.box_unions import BandwidthMeasure
from covey.plan.model.filters import BrokerFilters
from covey.plan.model.problem import Problem

__all__ = ["DemandGroups"]

Bools = NDArray[np.bool_]
Numbers = NDArray[np.int32]

_MAX_TABLE_CELLS = 1 << 24  # of the table that counts sampled events
_MAX_BOUNDARIES = 1024  # per axis


@dataclass(frozen=True, slots=True)
class DemandGroups:
    """Box classes, leaf sets, and the groups of subscribers that share one of each.

    Args:
        grid: the cells of event space.
        measure: the volume of a box of cells, or with an event sample the share of events in it.
        box_classes: the distinct boxes of subscribers, one row each, in cells.
        leaf_sets: the distinct sets of leaves that may serve a subscriber: a row for each set, a
            column for each leaf.
        class_of_group: the box class of each group, a row of `box_classes`.
        leaf_set_of_group: the leaf set of each group, a row of `leaf_sets`.
        group_sizes: the number of subscribers of each group.
        group_of_subscriber: the group of each subscriber.

    Cost: a distance for each subscriber and leaf, and a sort of the subscribers.
    """

    grid: EventGrid
    measure: BandwidthMeasure
    box_classes: Boxes
    leaf_sets: Bools
    class_of_group: Numbers
    leaf_set_of_group: Numbers
    group_sizes: NDArray[np.int64]
    group_of_subscriber: Numbers

    @property
    def subscribers_by_leaf_set(self) -> NDArray[np.int64]:
        """Number of subscribers with each leaf set, in the order of `leaf_sets`."""
        counts = np.bincount(
            self.leaf_set_of_group, self.group_sizes, minlength=len(self.leaf_sets)
        )
        return counts.astype(np.int64)

    @classmethod
    def from_problem(
        cls,
        problem: Problem,
        *,
        with_latency: bool = True,
        weights: NDArray[np.int64] | None = None,
        filters: BrokerFilters | None = None,
        round_inward: bool = False,
    ) -> DemandGroups:
        """Return the groups of a problem.

        Args:
            problem: the subscribers, the tree and the limits.
            with_latency: respect `max_delay` and `allowed_leaves`; if False, every leaf may serve
                every subscriber.
            weights: the number of subscribers that each row represents; by default 1.
            filters: filters whose ends become boundaries of cells, in addition to the ends of
                boxes. Cells then represent the filters exactly, unless an axis has too many ends.
            round_inward: if an axis has too many ends for exact cells, make boxes smaller instead
                of larger.
        """
        lower, upper = problem.subscribers.lower, problem.subscribers.upper
        d = lower.shape[1]
        max_boundaries = (
            _MAX_BOUNDARIES
            if problem.event_sample is None
            else min(_MAX_BOUNDARIES, round(_MAX_TABLE_CELLS ** (1 / d)) // 2)
        )
        if filters is None:
            cells = EventGrid.from_boxes(lower, upper, max_boundaries=max_boundaries)
        else:
            low, high = filters.all_rectangles
            cells = EventGrid.from_boxes(
                np.concatenate([lower, low]),
                np.concatenate([upper, high]),
                max_boundaries=max_boundaries,
            )
        measure = (
            cells.volume_measure
            if problem.event_sample is None
            else cells.build_count_measure(problem.event_sample)
        )
        box_classes, class_of = find_unique_rows(
            (cells.to_inner_cell_boxes if round_inward else cells.to_cell_boxes)(lower, upper)
        )
        leaves = len(problem.tree.leaves)
        if with_latency:
            bits, set_of = find_unique_rows(find_leaves_within_delay(problem))
            sets = unpack_leaf_sets(bits, leaves)
        else:
            sets = np.ones((1, leaves), np.bool_)
            set_of = np.zeros(len(class_of), np.int32)
        groups, group_of = find_unique_rows(np.stack([class_of, set_of], axis=1))
        counts = np.bincount(group_of, weights, minlength=len(groups)).astype(np.int64)
        class_of, set_of = np.ascontiguousarray(groups.T)
        return cls(cells, measure, box_classes, sets, class_of, set_of, counts, group_of)
