"""A fixed set of regions made small, in one process: covering, subsumption, merging in this order.

Equal regions are one, covered ones are under another, subsumed ones under several; what is left is
active, and its union is that of all. Filters are hulls of active regions. The same steps over parts
of the rows, as tasks would do them, come to the same result.

Cost: about 50 µs per region, most of it for the active ones, and what merging takes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from covey._argument_checks import check_arguments, check_fields, check_range
from covey.covering.absorber_index import AbsorberIndex
from covey.covering.cover_pointers import CoverForest, find_equal_rows
from covey.covering.executor import Executor, LocalExecutor
from covey.covering.filters import build_filters
from covey.covering.region_boxes import RegionBoxes
from covey.covering.step_timer import StepTimer
from covey.covering.summary import ReductionSummary
from covey.errors import InvalidArgumentError
from covey.geometry import Regions
from covey.space import Events
from covey.space.ragged_array import RaggedArray

__all__ = ["Reduction", "ReductionLimits", "RegionStatus", "reduce_regions"]

Rows = NDArray[np.int64]


class RegionStatus(IntEnum):
    """What became of a region. Of several regions of one subscription the least counts."""

    ACTIVE = 0
    SUBSUMED = 1  # by the union of several
    COVERED = 2  # by one
    EQUAL = 3  # to one that came before it


@dataclass(frozen=True, slots=True)
class ReductionLimits:
    """How much is tried, and how much may be let in.

    `max_subtractions`: regions that are taken out of one to see whether anything is left.
    `max_false_positive_rate`: the share of events that filters may let in beyond what subscriptions
    match, of a sample, or without one of the space as ends are spread in it; with 0 only perfect
    merges are done.
    """

    max_subtractions: int = 32
    max_false_positive_rate: float = 0.0

    def __post_init__(self) -> None:
        check_fields(self)
        check_range("max_subtractions", self.max_subtractions, 0)
        check_range("max_false_positive_rate", self.max_false_positive_rate, 0, 1)


@dataclass(frozen=True, slots=True)
class Reduction:
    """For each region its status and those that absorb it; filters and their members.

    An absorber is active or absorbed by larger ones in turn, never in a circle.

    All are numbers of regions; `filters` are regions too, and cover their members.
    """

    statuses: NDArray[np.int8]
    absorbers: RaggedArray
    filters: Regions
    filter_members: RaggedArray
    summary: ReductionSummary
    seconds_by_step: Mapping[str, float]
    """How long each step took."""


@check_arguments
def reduce_regions(
    regions: Regions,
    subscription_rows: Rows,
    *,
    sample: Events | None = None,
    limits: ReductionLimits | None = None,
    executor: Executor | None = None,
) -> Reduction:
    """Reduces regions, of which row i belongs to subscription `subscription_rows[i]`.

    Guarantee: the union of the active regions is that of all, filters contain it, and of the half
    of a sample that merging did not see they let in no more than the budget allows. The result is
    the same every time, whoever the workers are.
    """
    if len(subscription_rows) != len(regions):
        raise InvalidArgumentError(
            f"subscription_rows must name a subscription for each of {len(regions)} regions, "
            f"got {len(subscription_rows)}"
        )
    limits = ReductionLimits() if limits is None else limits
    executor = LocalExecutor() if executor is None else executor
    clock = StepTimer()
    boxes = RegionBoxes.from_regions(regions)
    equal = find_equal_rows(boxes)
    clock.lap("equality")
    covered = CoverForest.build(regions, equal, executor.find_covering_rows)
    distinct, covered_by, index = covered.distinct_rows, covered.root_rows, covered.index
    maximal = np.flatnonzero(covered_by == np.arange(len(regions)))
    clock.lap("covering")
    found = executor.find_subsumed(
        AbsorberIndex.build(boxes.take(maximal)), limits.max_subtractions
    )
    absorbers = _combine_absorbers(covered_by, maximal, found.absorbers)
    status = np.full(len(regions), RegionStatus.COVERED, np.int8)
    status[equal != np.arange(len(regions))] = RegionStatus.EQUAL
    status[maximal] = np.where(found.is_absorbed, RegionStatus.SUBSUMED, RegionStatus.ACTIVE)
    clock.lap("subsumption")
    order = distinct[index.stored_rows]
    order = order[status[order] == RegionStatus.ACTIVE]
    filters = build_filters(
        regions, boxes, order, index, sample, limits.max_false_positive_rate, executor
    )
    clock.lap("merging")
    summary = ReductionSummary(
        subscriptions=len(np.unique(subscription_rows)),
        redundant=len(np.unique(subscription_rows)) - len(np.unique(subscription_rows[order])),
        regions=len(regions),
        equal=len(regions) - len(distinct),
        covered=len(distinct) - len(maximal),
        subsumed=len(maximal) - len(order),
        undecided=int(found.is_out_of_budget.sum()),
        perfectly_merged=filters.perfect_merges,
        imperfectly_merged=filters.imperfect_merges,
        sampled_events=len(filters.is_matched),
        matched_events=int(filters.is_matched.sum()),
        false_forwards=filters.false_forwards,
    )
    return Reduction(
        status, absorbers, filters.regions, filters.members, summary, clock.seconds_by_step
    )


def _combine_absorbers(covered_by: Rows, maximal: Rows, subsumers: RaggedArray) -> RaggedArray:
    """The regions that each region is under: one that covers it, or those that subsume it."""
    lengths = (covered_by != np.arange(len(covered_by))).astype(np.int64)
    single = RaggedArray.from_lengths(lengths, covered_by[lengths > 0])
    several = np.zeros(len(covered_by), np.int64)
    several[maximal] = subsumers.lengths
    return single.hstack(RaggedArray.from_lengths(several, maximal[subsumers.values]))
