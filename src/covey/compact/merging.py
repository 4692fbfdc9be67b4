"""Active regions merged into filters: hulls of regions of the same rest.

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

from covey.compact.boxes import Boxes
from covey.compact.covering import tops
from covey.compact.kernels.merging import merge
from covey.compact.measure import measured
from covey.space.ragged import Ragged

__all__ = ["Group", "Merges", "choose", "grouped", "merged", "merges"]

Bools = NDArray[np.bool_]
Codes = NDArray[np.int32]
Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
GROUP = 1024


class Group(NamedTuple):
    """Regions that are merged with each other: their rows, boxes, and where these are in space."""

    rows: Rows
    lower: Codes
    upper: Codes
    ends: Floats
    rest: Codes


class Merges(NamedTuple):
    """What a group proposes, one after another: the rows `first` and `second` become one."""

    first: Rows
    second: Rows
    costs: Floats
    is_perfect: Bools

    def first_ones(self, count: int) -> Merges:
        """The first so many of them."""
        first, second, costs, is_perfect = self
        return Merges(first[:count], second[:count], costs[:count], is_perfect[:count])


@dataclass(frozen=True, slots=True)
class Merged:
    """Boxes of filters, and the rows that each is for."""

    lower: Codes
    upper: Codes
    members: Ragged


def grouped(
    boxes: Boxes, order: Rows, sample: Codes | None = None, size: int = GROUP
) -> list[Group]:
    """Groups of at most `size` of the boxes in an order that has near ones together.

    Those that are alone with their rest are in none.
    """
    order = order[np.argsort(boxes.rest[order], kind="stable")]
    shared = np.bincount(boxes.rest[order], minlength=1)[boxes.rest[order]] > 1
    order = order[shared]
    ends = measured(boxes, sample)
    parts = (order[start : start + size] for start in range(0, len(order), size))
    return [
        Group(rows, boxes.lower[rows], boxes.upper[rows], ends[rows], boxes.rest[rows])
        for rows in parts
    ]


def merges(group: Group, unwanted: Codes | None, limit: float) -> Merges:
    """What a group proposes as long as it costs no more than `limit` in all.

    `unwanted` are events of a sample that no subscription wants, as points of the boxes' codes.
    """
    density, events = 1.0, group.lower[:0]
    if unwanted is not None:
        inside = (group.lower.min(axis=0) <= unwanted) & (unwanted <= group.upper.max(axis=0))
        events = unwanted[inside.all(axis=1)]
        sides = group.ends[:, 1::2].max(axis=0) - group.ends[:, ::2].min(axis=0)
        density = (len(events) + 1) / float(sides.prod())
    overwritten = (part.copy() for part in (group.lower, group.upper, group.ends))
    pairs, costs, is_perfect = merge(*overwritten, group.rest, events, density, limit)
    return Merges(group.rows[pairs[:, 0]], group.rows[pairs[:, 1]], costs, is_perfect)


def choose(costs: Sequence[Floats], budget: float) -> Rows:
    """How many of the first merges each group may do: the cheapest of all, until a budget ends.

    A merge counts as dear as the dearest before it in its group, without which it cannot be done.

    >>> choose([np.array([0.0, 3.0, 1.0]), np.array([2.0, 5.0])], 6.0).tolist()
    [3, 1]
    """
    if not costs:
        return np.empty(0, np.int64)
    dear = np.concatenate([np.maximum.accumulate(some) for some in costs])
    group = np.repeat(np.arange(len(costs)), [len(some) for some in costs])
    order = np.argsort(dear, kind="stable")
    total = np.cumsum(np.concatenate(costs)[order])
    return np.bincount(group[order[total <= budget]], minlength=len(costs))


def merged(boxes: Boxes, rows: Rows, chosen: Sequence[Merges]) -> Merged:
    """The boxes of all given rows after these merges, and which rows are in each."""
    pointers = np.full(len(boxes), -1, np.int64)
    for some in chosen:
        pointers[some.second] = some.first
    into = tops(pointers)[rows]
    order = np.lexsort((rows, into))
    starts = np.flatnonzero(np.diff(into[order], prepend=-1))
    members = Ragged(np.append(starts, len(rows)), rows[order])
    lower, upper = boxes.lower[rows[order]], boxes.upper[rows[order]]
    if len(starts):
        lower, upper = np.minimum.reduceat(lower, starts), np.maximum.reduceat(upper, starts)
    return Merged(lower, upper, members)
