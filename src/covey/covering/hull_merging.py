"""Hull merging: replace active regions with the same residual constraints by their hulls.

A merge is perfect if its hull is the union of the merged boxes; its cost is 0. Without a sample,
the cost of any other merge is the volume that the hull adds. With a sample, it is the larger of two
numbers of events. One is the number of sampled events that the hull admits, that no subscription
matches, and that no earlier merge admits. The other is the number that the hull would add if the
unmatched events were distributed evenly over the group's volume. With the first number alone, hulls
would fill the gaps between sampled events, and cause ten times as many false forwards of events
that are not in the sample.

Groups of regions that are near each other are merged independently, so that tasks can share the
work. At the end, merges are chosen from the proposals of all groups.

Cost: about proportional to the square of a group's size. It is some 10 µs per region if few regions
are merged, and five times that if nearly all are merged with a sample. Merging is not useful for
regions that are far apart, because all their merges are expensive.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from covey.covering.box_bounds import compute_box_bounds
from covey.covering.cover_pointers import find_chain_roots
from covey.covering.kernels.hull_merging import merge_pairwise
from covey.covering.region_boxes import RegionBoxes
from covey.space.ragged_array import RaggedArray

__all__ = [
    "HullGroup",
    "HullMerges",
    "apply_merges",
    "count_affordable_merges",
    "group_boxes",
    "propose_merges",
]

Bools = NDArray[np.bool_]
Codes = NDArray[np.int32]
Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
MAX_GROUP_SIZE = 1024


class HullGroup(NamedTuple):
    """Regions that may be merged with each other: rows, boxes, bounds and residual ids.

    Only regions with the same residual id can be merged. `bounds` contains the normalised
    coordinates that `covey.covering.box_bounds` computes.
    """

    rows: Rows
    lower: Codes
    upper: Codes
    bounds: Floats
    residual_ids: Codes


class HullMerges(NamedTuple):
    """Merges that a group proposes, in order: the second region of each is merged into the first.

    `first_rows` and `second_rows` are row numbers among all regions, not within the group.
    """

    first_rows: Rows
    second_rows: Rows
    costs: Floats
    is_perfect: Bools

    def head(self, count: int) -> HullMerges:
        """Return the first `count` merges."""
        first, second, costs, is_perfect = self
        return HullMerges(first[:count], second[:count], costs[:count], is_perfect[:count])


@dataclass(frozen=True, slots=True)
class MergedHulls:
    """Boxes of filters, and for each filter the rows of the active regions that it replaces."""

    lower: Codes
    upper: Codes
    members: RaggedArray


def group_boxes(
    boxes: RegionBoxes,
    order: Rows,
    *,
    sample_points: Codes | None = None,
    max_size: int = MAX_GROUP_SIZE,
) -> list[HullGroup]:
    """Return groups of at most `max_size` boxes that are near each other.

    A box is in no group if no other box has the same residual constraints.

    Args:
        boxes: the boxes of all regions.
        order: the rows of active regions, sorted such that neighbours in `order` have boxes near
            each other.
        sample_points: the codes of sampled events, a row for each event; None without a sample.
        max_size: largest number of boxes of a group.
    """
    order = order[np.argsort(boxes.residual_ids[order], kind="stable")]
    is_shared = np.bincount(boxes.residual_ids[order], minlength=1)[boxes.residual_ids[order]] > 1
    order = order[is_shared]
    bounds = compute_box_bounds(boxes, sample_points)
    parts = (order[start : start + max_size] for start in range(0, len(order), max_size))
    return [
        HullGroup(
            rows, boxes.lower[rows], boxes.upper[rows], bounds[rows], boxes.residual_ids[rows]
        )
        for rows in parts
    ]


def propose_merges(group: HullGroup, unmatched_points: Codes | None, max_cost: float) -> HullMerges:
    """Return the merges of a group, in the order in which they are chosen.

    The cheapest merge is chosen again and again, while the total cost is at most `max_cost`.
    `unmatched_points` contains the codes of sampled events that no subscription matches, a row for
    each event; None without a sample.
    """
    density, events = 1.0, group.lower[:0]
    if unmatched_points is not None:
        is_inside = (group.lower.min(axis=0) <= unmatched_points) & (
            unmatched_points <= group.upper.max(axis=0)
        )
        events = unmatched_points[is_inside.all(axis=1)]
        sides = group.bounds[:, 1::2].max(axis=0) - group.bounds[:, ::2].min(axis=0)
        density = (len(events) + 1) / float(sides.prod())
    working_copies = (part.copy() for part in (group.lower, group.upper, group.bounds))
    pairs, costs, is_perfect = merge_pairwise(
        *working_copies, group.residual_ids, events, density, max_cost
    )
    return HullMerges(group.rows[pairs[:, 0]], group.rows[pairs[:, 1]], costs, is_perfect)


def count_affordable_merges(costs: Sequence[Floats], max_cost: float) -> Rows:
    """Return for each group how many of its first merges can be done within a total of `max_cost`.

    The merges of all groups are done in ascending order of cost, until the total cost would exceed
    `max_cost`. In this order, a merge is placed by the largest cost among itself and the earlier
    merges of its group, because it needs these.

    >>> count_affordable_merges([np.array([0.0, 3.0, 1.0]), np.array([2.0, 5.0])], 6.0).tolist()
    [3, 1]
    """
    if not costs:
        return np.empty(0, np.int64)
    effective_costs = np.concatenate([np.maximum.accumulate(group_costs) for group_costs in costs])
    group = np.repeat(np.arange(len(costs)), [len(group_costs) for group_costs in costs])
    order = np.argsort(effective_costs, kind="stable")
    total = np.cumsum(np.concatenate(costs)[order])
    return np.bincount(group[order[total <= max_cost]], minlength=len(costs))


def apply_merges(boxes: RegionBoxes, rows: Rows, chosen: Sequence[HullMerges]) -> MergedHulls:
    """Return the hulls of the boxes at `rows` after the chosen merges, with their members.

    A box that is in no merge is a hull with one member.
    """
    pointers = np.full(len(boxes), -1, np.int64)
    for merges in chosen:
        pointers[merges.second_rows] = merges.first_rows
    root_rows = find_chain_roots(pointers)[rows]
    order = np.lexsort((rows, root_rows))
    starts = np.flatnonzero(np.diff(root_rows[order], prepend=-1))
    members = RaggedArray(np.append(starts, len(rows)), rows[order])
    lower, upper = boxes.lower[rows[order]], boxes.upper[rows[order]]
    if len(starts):
        lower, upper = np.minimum.reduceat(lower, starts), np.maximum.reduceat(upper, starts)
    return MergedHulls(lower, upper, members)
