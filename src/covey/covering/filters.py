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

from covey.covering.executor import Executor
from covey.covering.hull_merging import (
    HullMerges,
    apply_merges,
    count_affordable_merges,
    group_boxes,
)
from covey.covering.region_boxes import RegionBoxes
from covey.geometry import Regions
from covey.index import SegmentIndex
from covey.space import Events
from covey.space.ragged_array import RaggedArray

__all__ = ["FilterSet", "build_filters", "matches_any"]

Bools = NDArray[np.bool_]
Rows = NDArray[np.int64]
_BATCH_EVENTS = 1 << 12
_MAX_TRIALS = 8


@dataclass(frozen=True, slots=True)
class FilterSet:
    """Regions that cover their members, the merges that made them, and which events they let in.

    Events are those of the sample that merging did not see.
    """

    regions: Regions
    members: RaggedArray
    perfect_merges: int
    imperfect_merges: int
    is_matched: Bools
    is_admitted: Bools

    @property
    def false_forwards(self) -> int:
        """Events that are let in and that no region wants."""
        return int((self.is_admitted & ~self.is_matched).sum())


def build_filters(
    regions: Regions, boxes: RegionBoxes, order: Rows, index: SegmentIndex, sample: Events | None,
    max_false_positive_rate: float, executor: Executor,
) -> FilterSet:  # fmt: skip
    """Filters for the rows in `order`, which has near ones together.

    `boxes` are those of all regions, `index` finds whether one of them wants an event. At most a
    share `max_false_positive_rate` is let in beyond that: of the sample's events, or of the space.
    """
    seen, unseen = (None, None) if sample is None else _split_sample(sample)
    points, unwanted, budget = None, None, max_false_positive_rate
    if seen is not None:
        points, budget = boxes.encode_events(seen), max_false_positive_rate * len(seen)
        unwanted = points[~matches_any(index, seen)]
    proposed = executor.propose_merges(
        group_boxes(boxes, order, sample_points=points), unwanted, budget
    )
    is_wanted = np.empty(0, np.bool_) if unseen is None else matches_any(index, unseen)
    for trial in range(_MAX_TRIALS):
        counts = count_affordable_merges([some.costs for some in proposed], budget).tolist()
        chosen = [some.head(n) for some, n in zip(proposed, counts, strict=True)]
        found = _filters_from_merges(regions, boxes, np.sort(order), chosen, unseen, is_wanted)
        most = max_false_positive_rate * len(is_wanted)
        if found.false_forwards <= most:
            break
        last = trial == _MAX_TRIALS - 2  # perfect merges let in nothing
        budget = 0.0 if last else budget * min(0.8, most / found.false_forwards)
    return found


def matches_any(index: SegmentIndex, events: Events) -> Bools:
    """Whether some stored region contains each event."""
    answer = np.zeros(len(events), np.bool_)
    for start in range(0, len(events), _BATCH_EVENTS):
        rows = np.arange(start, min(start + _BATCH_EVENTS, len(events)))
        answer[rows[index.match(events.take(rows)).query_rows]] = True
    return answer


def _split_sample(sample: Events) -> tuple[Events, Events]:
    """Events to merge by, and others to measure by."""
    rows = np.arange(len(sample))
    return sample.take(rows[::2]), sample.take(rows[1::2])


def _filters_from_merges(
    regions: Regions,
    boxes: RegionBoxes,
    rows: Rows,
    chosen: Sequence[HullMerges],
    events: Events | None,
    is_matched: Bools,
) -> FilterSet:
    """What some merges make of some rows."""
    hulls = apply_merges(boxes, rows, chosen)
    firsts = hulls.members.values[hulls.members.offsets[:-1]]
    made = boxes.to_regions(regions, firsts, hulls.lower, hulls.upper)
    perfect = sum(int(some.is_perfect.sum()) for some in chosen)
    return FilterSet(
        made,
        hulls.members,
        perfect,
        sum(len(some.costs) for some in chosen) - perfect,
        is_matched,
        is_matched if events is None else matches_any(SegmentIndex.build(made), events),
    )
