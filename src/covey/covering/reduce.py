"""Reduction of a fixed set of regions: equality, covering, subsumption and merging, in this order.

Of equal regions, all but the first are redundant. A covered region is within another region; a
subsumed region is within the union of several. All remaining regions are active, and their union is
the union of all regions. Filters are hulls of active regions. The result is the same whether a step
processes all rows at once, or Spark tasks process a portion of the rows each.

Cost: about 50 µs per region, spent mostly on active regions, and the cost of merging.
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

    The status of a subscription is the smallest status of its regions.
    """

    ACTIVE = 0
    SUBSUMED = 1  # within the union of several regions
    COVERED = 2  # within one region
    EQUAL = 3  # equal to an earlier region


@dataclass(frozen=True, slots=True)
class ReductionLimits:
    """Limits of a reduction: the effort per region, and the false forwards of filters.

    Args:
        max_subtractions: largest number of subtractions of other regions from pieces of a region,
            to test whether their union contains the region. If more would be necessary, the region
            stays active.
        max_false_positive_rate: the largest share of events that filters may admit although no
            subscription matches them. With a sample, it is a share of the sampled events. Without a
            sample, it is a share of the space's volume in the coordinates of
            `covey.covering.box_bounds`. With 0, only perfect merges are done.

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
    """Result of a reduction; regions are identified by their row numbers.

    Args:
        statuses: the `RegionStatus` of each region.
        absorbers: for each region the rows of the regions that absorb it; empty for an active
            region. An absorber is active, or is itself absorbed by other regions. No region absorbs
            itself, directly or through other regions.
        filters: the filters; each is a region that covers its members.
        filter_members: for each filter the rows of its members, which are active regions.
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
    """Divide regions into active and redundant ones, build filters, and return the reduction.

    The union of the active regions is the union of all regions, and the filters contain this union.
    On the half of the sample that merging did not see, the share of false forwards is at most the
    limit. The result is deterministic and does not depend on the executor.

    Args:
        regions: the regions.
        subscription_rows: region i belongs to subscription `subscription_rows[i]`.
        sample: events with which false forwards are measured; None to estimate them from volumes.
        limits: the limits of effort and of false forwards; None for the default limits.
        executor: runs the steps that can be distributed; None to run them in this process.

    Raises:
        InvalidArgumentError: if there is not exactly one subscription row for each region.
    """
    if len(subscription_rows) != len(regions):
        raise InvalidArgumentError(
            f"subscription_rows must have one number for each of {len(regions)} regions, "
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
    """Return the absorbers of each region: the region that covers it, or the subsuming regions.

    Args:
        covered_by: for each region the row of a region that covers it; its own row if no other
            region covers it.
        maximal: the rows of the regions that no other region covers.
        subsumers: for each maximal region its absorbers, as positions in `maximal`.
    """
    lengths = (covered_by != np.arange(len(covered_by))).astype(np.int64)
    single = RaggedArray.from_lengths(lengths, covered_by[lengths > 0])
    several = np.zeros(len(covered_by), np.int64)
    several[maximal] = subsumers.lengths
    return single.hstack(RaggedArray.from_lengths(several, maximal[subsumers.values]))
