"""Active regions merged into filters: hulls of regions with the same residual constraints.

A merge is perfect if its hull adds nothing. What another one costs is the volume that it adds. With
a sample it is events of it: those that the hull lets in, nobody wants, and no merge before let in;
or, if that is more, what it would let in if those that nobody wants were spread over the group as
volume is. Counting alone would find the holes of a sample, and let in ten times as many of the
events that are not in it.

Groups of near regions are merged each for itself, so that tasks can share the work; what they
propose is chosen from in the end.

Cost: about the square of a group's size: some 10 µs per region where little is merged, five times
as much where nearly all are, with a sample. Wrong choice for regions that are far apart: all merges
are dear.
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
    """Regions that are merged with each other: their rows, boxes, and where these are in space."""

    rows: Rows
    lower: Codes
    upper: Codes
    bounds: Floats
    residual_ids: Codes


class HullMerges(NamedTuple):
    """What a group proposes, one after another: the rows of each pair become one."""

    first_rows: Rows
    second_rows: Rows
    costs: Floats
    is_perfect: Bools

    def head(self, count: int) -> HullMerges:
        """The first so many of them."""
        first, second, costs, is_perfect = self
        return HullMerges(first[:count], second[:count], costs[:count], is_perfect[:count])


@dataclass(frozen=True, slots=True)
class MergedHulls:
    """Boxes of filters, and the rows that each is for."""

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
    """Groups of at most `max_size` of the boxes in an order that has near ones together.

    Those that are alone with their residual constraints are in none.
    """
    order = order[np.argsort(boxes.residual_ids[order], kind="stable")]
    shared = np.bincount(boxes.residual_ids[order], minlength=1)[boxes.residual_ids[order]] > 1
    order = order[shared]
    ends = compute_box_bounds(boxes, sample_points)
    parts = (order[start : start + max_size] for start in range(0, len(order), max_size))
    return [
        HullGroup(rows, boxes.lower[rows], boxes.upper[rows], ends[rows], boxes.residual_ids[rows])
        for rows in parts
    ]


def propose_merges(group: HullGroup, unmatched_points: Codes | None, max_cost: float) -> HullMerges:
    """What a group proposes as long as it costs no more than `max_cost` in all.

    `unmatched_points` are events of a sample that no subscription matches, as points of the boxes'
    codes.
    """
    density, events = 1.0, group.lower[:0]
    if unmatched_points is not None:
        inside = (group.lower.min(axis=0) <= unmatched_points) & (
            unmatched_points <= group.upper.max(axis=0)
        )
        events = unmatched_points[inside.all(axis=1)]
        sides = group.bounds[:, 1::2].max(axis=0) - group.bounds[:, ::2].min(axis=0)
        density = (len(events) + 1) / float(sides.prod())
    overwritten = (part.copy() for part in (group.lower, group.upper, group.bounds))
    pairs, costs, is_perfect = merge_pairwise(
        *overwritten, group.residual_ids, events, density, max_cost
    )
    return HullMerges(group.rows[pairs[:, 0]], group.rows[pairs[:, 1]], costs, is_perfect)


def count_affordable_merges(costs: Sequence[Floats], max_cost: float) -> Rows:
    """How many of the first merges each group may do: the cheapest of all, until a budget ends.

    A merge counts as dear as the dearest before it in its group, without which it cannot be done.

    >>> count_affordable_merges([np.array([0.0, 3.0, 1.0]), np.array([2.0, 5.0])], 6.0).tolist()
    [3, 1]
    """
    if not costs:
        return np.empty(0, np.int64)
    dear = np.concatenate([np.maximum.accumulate(some) for some in costs])
    group = np.repeat(np.arange(len(costs)), [len(some) for some in costs])
    order = np.argsort(dear, kind="stable")
    total = np.cumsum(np.concatenate(costs)[order])
    return np.bincount(group[order[total <= max_cost]], minlength=len(costs))


def apply_merges(boxes: RegionBoxes, rows: Rows, chosen: Sequence[HullMerges]) -> MergedHulls:
    """The boxes of all given rows after these merges, and which rows are in each."""
    pointers = np.full(len(boxes), -1, np.int64)
    for some in chosen:
        pointers[some.second_rows] = some.first_rows
    into = find_chain_roots(pointers)[rows]
    order = np.lexsort((rows, into))
    starts = np.flatnonzero(np.diff(into[order], prepend=-1))
    members = RaggedArray(np.append(starts, len(rows)), rows[order])
    lower, upper = boxes.lower[rows[order]], boxes.upper[rows[order]]
    if len(starts):
        lower, upper = np.minimum.reduceat(lower, starts), np.maximum.reduceat(upper, starts)
    return MergedHulls(lower, upper, members)
