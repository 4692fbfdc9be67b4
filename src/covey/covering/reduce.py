"""Reduction of a fixed set of regions: equality, covering, subsumption and merging, in this order.

Of equal regions the first remains, covered regions are within another one, subsumed regions within
the union of several. All others are active, and their union is the union of all regions. Filters
are hulls of active regions. The result is the same if the steps are computed in portions of the
rows, as tasks do it.

Cost: about 50 µs per region, most of it for active ones, and the cost of merging.
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
    """Result of the reduction for one region.

    The status of a subscription is the smallest one of its regions.
    """

    ACTIVE = 0
    SUBSUMED = 1  # within the union of several regions
    COVERED = 2  # within one region
    EQUAL = 3  # equal to an earlier region


@dataclass(frozen=True, slots=True)
class ReductionLimits:
    """Limits of a reduction: the effort per region, and the false forwards of filters.

    Args:
        max_subtractions: how many regions are subtracted from one at most, to test whether they
            contain it.
        max_false_positive_rate: the largest share of events that filters may admit although no
            subscription matches them. It is a share of the sampled events, or without a sample of
            the space, measured by how interval ends are distributed. With 0, only perfect merges
            are done.

    Raises:
        InvalidArgumentError: if a limit is out of its range.
    """

    max_subtractions: int = 32
    max_false_positive_rate: float = 0.0

    def __post_init__(self) -> None:
        check_fields(self)
        check_range("max_subtractions", self.max_subtractions, 0)
        check_range("max_false_positive_rate", self.max_false_positive_rate, 0, 1)


@dataclass(frozen=True, slots=True)
class Reduction:
    """Result of a reduction; regions are named by their row numbers.

    Args:
        statuses: the `RegionStatus` of each region.
        absorbers: for each redundant region the regions that absorb it. An absorber is active, or
            is absorbed in turn by larger regions, never in a circle.
        filters: the filters, which are regions as well and cover their members.
        filter_members: the active regions of each filter.
        summary: the counts of each step.
        seconds_by_step: the duration of each step.
    """

    statuses: NDArray[np.int8]
    absorbers: RaggedArray
    filters: Regions
    filter_members: RaggedArray
    summary: ReductionSummary
    seconds_by_step: Mapping[str, float]


@check_arguments
def reduce_regions(
    regions: Regions,
    subscription_rows: Rows,
    *,
    sample: Events | None = None,
    limits: ReductionLimits | None = None,
    executor: Executor | None = None,
) -> Reduction:
    """Return the reduction of regions to active ones, and filters for them.

    The union of the active regions is the union of all regions, and filters contain it. On the half
    of the sample that merging did not see, filters admit no more false forwards than the limit
    allows. The result is deterministic and independent of the executor.

    Args:
        regions: the regions.
        subscription_rows: region i belongs to subscription `subscription_rows[i]`.
        sample: events by which merging measures false forwards; without it, volume is used.
        limits: the limits of effort and of false forwards.
        executor: runs the steps that can be distributed; by default this process.

    Raises:
        InvalidArgumentError: if there is not one subscription row for each region.
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
    equal_rows = find_equal_rows(boxes)
    clock.lap("equality")
    forest = CoverForest.build(regions, equal_rows, executor.find_covering_rows)
    distinct, root_rows, index = forest.distinct_rows, forest.root_rows, forest.index
    maximal = np.flatnonzero(root_rows == np.arange(len(regions)))
    clock.lap("covering")
    subsumption = executor.find_subsumed(
        AbsorberIndex.build(boxes.take(maximal)), limits.max_subtractions
    )
    absorbers = _combine_absorbers(root_rows, maximal, subsumption.absorbers)
    statuses = np.full(len(regions), RegionStatus.COVERED, np.int8)
    statuses[equal_rows != np.arange(len(regions))] = RegionStatus.EQUAL
    statuses[maximal] = np.where(
        subsumption.is_absorbed, RegionStatus.SUBSUMED, RegionStatus.ACTIVE
    )
    clock.lap("subsumption")
    order = distinct[index.stored_rows]
    order = order[statuses[order] == RegionStatus.ACTIVE]
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
        undecided=int(subsumption.is_out_of_budget.sum()),
        perfectly_merged=filters.perfect_merges,
        imperfectly_merged=filters.imperfect_merges,
        sampled_events=len(filters.is_matched),
        matched_events=int(filters.is_matched.sum()),
        false_forwards=filters.false_forwards,
    )
    return Reduction(
        statuses, absorbers, filters.regions, filters.members, summary, clock.seconds_by_step
    )


def _combine_absorbers(covered_by: Rows, maximal: Rows, subsumers: RaggedArray) -> RaggedArray:
    """Return the absorbers of each region: the one that covers it, or those that subsume it.

    Args:
        covered_by: the row of the covering region of each region, or its own.
        maximal: the rows of the regions that no other covers.
        subsumers: for each maximal region its absorbers, as positions in `maximal`.
    """
    lengths = (covered_by != np.arange(len(covered_by))).astype(np.int64)
    single = RaggedArray.from_lengths(lengths, covered_by[lengths > 0])
    several = np.zeros(len(covered_by), np.int64)
    several[maximal] = subsumers.lengths
    return single.hstack(RaggedArray.from_lengths(several, maximal[subsumers.values]))
