"""Filters for active regions that respect a limit of false forwards, measured on a sample.

Merging uses every second event of the sample. The result is measured with the other events, because
filters have fewer false forwards on the events to which they were fitted. If the result exceeds the
limit, fewer merges are chosen and the result is measured again, at most eight times in all; the
last time, there are only perfect merges.

Cost: that of merging, and an index of the filters for each measurement.
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
    """Filters with their members, and the events of the sample that they admit.

    The events are the half of the sample that merging did not see. Without a sample there are none.

    Args:
        regions: the filters; each covers its members.
        members: for each filter the rows of the active regions that it replaces.
        perfect_merges: number of merges whose hull is the union of the merged boxes.
        imperfect_merges: number of other merges.
        is_matched: for each event whether an active region contains it.
        is_admitted: for each event whether a filter contains it.
    """

    regions: Regions
    members: RaggedArray
    perfect_merges: int
    imperfect_merges: int
    is_matched: Bools
    is_admitted: Bools

    @property
    def false_forwards(self) -> int:
        """Number of events that a filter admits and no region contains."""
        return int((self.is_admitted & ~self.is_matched).sum())


def build_filters(
    regions: Regions, boxes: RegionBoxes, order: Rows, index: SegmentIndex, sample: Events | None,
    max_false_positive_rate: float, executor: Executor,
) -> FilterSet:  # fmt: skip
    """Return filters for the active regions.

    Args:
        regions: all regions.
        boxes: the boxes of all regions.
        order: the rows of active regions, sorted such that neighbours in `order` are regions near
            each other.
        index: an index of regions with the same union as the active regions; it decides whether an
            event is matched.
        sample: events with which false forwards are measured; None to measure them by volume.
        max_false_positive_rate: the largest share of the sample's events, or without a sample of
            the volume of the space, that may be false forwards.
        executor: runs the merging of groups.
    """
    merging_events, test_events = (None, None) if sample is None else _split_sample(sample)
    points, unmatched_points, budget = None, None, max_false_positive_rate
    if merging_events is not None:
        points = boxes.encode_events(merging_events)
        budget = max_false_positive_rate * len(merging_events)
        unmatched_points = points[~matches_any(index, merging_events)]
    proposed = executor.propose_merges(
        group_boxes(boxes, order, sample_points=points), unmatched_points, budget
    )
    is_matched = np.empty(0, np.bool_) if test_events is None else matches_any(index, test_events)
    for trial in range(_MAX_TRIALS):
        counts = count_affordable_merges([merges.costs for merges in proposed], budget).tolist()
        chosen = [merges.head(n) for merges, n in zip(proposed, counts, strict=True)]
        filters = _filters_from_merges(
            regions, boxes, np.sort(order), chosen, test_events, is_matched
        )
        max_false_forwards = max_false_positive_rate * len(is_matched)
        if filters.false_forwards <= max_false_forwards:
            break
        is_last = trial == _MAX_TRIALS - 2  # perfect merges cause no false forwards
        budget = 0.0 if is_last else budget * min(0.8, max_false_forwards / filters.false_forwards)
    return filters


def matches_any(index: SegmentIndex, events: Events) -> Bools:
    """Return for each event whether a stored region contains it."""
    is_matched = np.zeros(len(events), np.bool_)
    for start in range(0, len(events), _BATCH_EVENTS):
        rows = np.arange(start, min(start + _BATCH_EVENTS, len(events)))
        is_matched[rows[index.match(events.take(rows)).possible_pairs.query_rows]] = True
    return is_matched


def _split_sample(sample: Events) -> tuple[Events, Events]:
    """Return the events in even rows, used for merging, and those in odd rows, used to measure."""
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
    """Return the filters after the chosen merges.

    Args:
        regions: all regions.
        boxes: the boxes of all regions.
        rows: the rows of active regions, ascending.
        chosen: the merges of each group.
        events: the events with which the result is measured; None without a sample.
        is_matched: for each of these events whether a region contains it.
    """
    hulls = apply_merges(boxes, rows, chosen)
    firsts = hulls.members.values[hulls.members.offsets[:-1]]
    filters = boxes.to_regions(regions, firsts, hulls.lower, hulls.upper)
    perfect = sum(int(merges.is_perfect.sum()) for merges in chosen)
    return FilterSet(
        filters,
        hulls.members,
        perfect,
        sum(len(merges.costs) for merges in chosen) - perfect,
        is_matched,
        is_matched if events is None else matches_any(SegmentIndex.build(filters), events),
    )
