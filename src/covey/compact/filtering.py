"""Active regions to filters that let in no more than a budget, by what a sample shows.

Every other event of a sample is for merging to see; the others measure what it came to, since
filters let in more of events that they were not made for. Where that is over the budget, fewer
merges are chosen.

Cost: that of merging, and an index over the filters each time they are measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from covey.compact.boxes import Boxes
from covey.compact.merging import Merges, choose, grouped, merged
from covey.compact.workers import Workers
from covey.geometry import Regions
from covey.index import Segment
from covey.space import Events
from covey.space.ragged import Ragged

__all__ = ["Filters", "filters_of", "wanted"]

Bools = NDArray[np.bool_]
Rows = NDArray[np.int64]
_AT_ONCE = 1 << 12
_TRIALS = 8


@dataclass(frozen=True, slots=True)
class Filters:
    """Regions that cover their members, the merges that made them, and which events they let in.

    Events are those of the sample that merging did not see.
    """

    regions: Regions
    members: Ragged
    perfect: int
    imperfect: int
    is_wanted: Bools
    is_let_in: Bools

    @property
    def false_forwards(self) -> int:
        """Events that are let in and that no region wants."""
        return int((self.is_let_in & ~self.is_wanted).sum())


def filters_of(
    regions: Regions, boxes: Boxes, order: Rows, index: Segment, sample: Events | None,
    added: float, workers: Workers,
) -> Filters:  # fmt: skip
    """Filters for the rows in `order`, which has near ones together.

    `boxes` are those of all regions, `index` finds whether one of them wants an event. At most a
    share `added` is let in beyond what is wanted: of the sample's events, or else of the space.
    """
    seen, unseen = (None, None) if sample is None else _halves(sample)
    points, unwanted, budget = None, None, added
    if seen is not None:
        points, budget = boxes.points(seen), added * len(seen)
        unwanted = points[~wanted(index, seen)]
    proposed = workers.merges(grouped(boxes, order, points), unwanted, budget)
    is_wanted = np.empty(0, np.bool_) if unseen is None else wanted(index, unseen)
    for trial in range(_TRIALS):
        counts = choose([some.costs for some in proposed], budget).tolist()
        chosen = [some.first_ones(n) for some, n in zip(proposed, counts, strict=True)]
        found = _filters(regions, boxes, np.sort(order), chosen, unseen, is_wanted)
        most = added * len(is_wanted)
        if found.false_forwards <= most:
            break
        last = trial == _TRIALS - 2  # perfect merges let in nothing
        budget = 0.0 if last else budget * min(0.8, most / found.false_forwards)
    return found


def wanted(index: Segment, events: Events) -> Bools:
    """Whether some stored region contains each event."""
    answer = np.zeros(len(events), np.bool_)
    for start in range(0, len(events), _AT_ONCE):
        rows = np.arange(start, min(start + _AT_ONCE, len(events)))
        answer[rows[index.matching(events.take(rows)).asked]] = True
    return answer


def _halves(sample: Events) -> tuple[Events, Events]:
    """Events to merge by, and others to measure by."""
    rows = np.arange(len(sample))
    return sample.take(rows[::2]), sample.take(rows[1::2])


def _filters(
    regions: Regions, boxes: Boxes, rows: Rows, chosen: Sequence[Merges], events: Events | None,
    is_wanted: Bools,
) -> Filters:  # fmt: skip
    """What some merges make of some rows."""
    hulls = merged(boxes, rows, chosen)
    firsts = hulls.members.values[hulls.members.offsets[:-1]]
    made = boxes.regions(regions, firsts, hulls.lower, hulls.upper)
    perfect = sum(int(some.is_perfect.sum()) for some in chosen)
    return Filters(
        made,
        hulls.members,
        perfect,
        sum(len(some.costs) for some in chosen) - perfect,
        is_wanted,
        is_wanted if events is None else wanted(Segment.build(made), events),
    )
