"""Subscribers who are alike, put together: the same box, and the same brokers near enough.

What is planned with then does not grow with the number of subscribers, only with how many different
ones there are.
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

_MAX_TABLE_CELLS = 1 << 24  # of a table that counts events
_MAX_BOUNDARIES = 1024  # of an axis


@dataclass(frozen=True, slots=True)
class DemandGroups:
    """Kinds of boxes, sets of leaves, and groups that have one of each.

    Subscriber s is of group `group_of[s]`; group g wants `kinds[kind_of[g]]`, may be served by
    `sets[set_of[g]]`, and has `counts[g]` subscribers.

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
        """How many subscribers have each set of leaves."""
        found = np.bincount(self.leaf_set_of_group, self.group_sizes, minlength=len(self.leaf_sets))
        return found.astype(np.int64)

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
        """The groups of a problem; without latency every leaf may serve everybody.

        With weights, subscriber s counts as `weights[s]`. Ends of `filters` are cuts, too. Where
        there are too many, boxes are wider than what is wanted, or if `is_inner` narrower.
        """
        lower, upper = problem.subscribers.lower, problem.subscribers.upper
        d = lower.shape[1]
        most = (
            _MAX_BOUNDARIES
            if problem.event_sample is None
            else min(_MAX_BOUNDARIES, round(_MAX_TABLE_CELLS ** (1 / d)) // 2)
        )
        if filters is None:
            cells = EventGrid.from_boxes(lower, upper, max_boundaries=most)
        else:
            low, high = filters.all_rectangles
            cells = EventGrid.from_boxes(
                np.concatenate([lower, low]), np.concatenate([upper, high]), max_boundaries=most
            )
        measure = (
            cells.volume_measure
            if problem.event_sample is None
            else cells.build_count_measure(problem.event_sample)
        )
        kinds, kind_of = find_unique_rows(
            (cells.to_inner_cell_boxes if round_inward else cells.to_cell_boxes)(lower, upper)
        )
        leaves = len(problem.tree.leaves)
        if with_latency:
            bits, set_of = find_unique_rows(find_leaves_within_delay(problem))
            sets = unpack_leaf_sets(bits, leaves)
        else:
            sets = np.ones((1, leaves), np.bool_)
            set_of = np.zeros(len(kind_of), np.int32)
        groups, group_of = find_unique_rows(np.stack([kind_of, set_of], axis=1))
        counts = np.bincount(group_of, weights, minlength=len(groups)).astype(np.int64)
        kind_of, set_of = np.ascontiguousarray(groups.T)
        return cls(cells, measure, kinds, sets, kind_of, set_of, counts, group_of)
