"""The strategies that advertise regions: one is advertised, or it is under one that is.

What a region is under is its absorber, or that one's absorber, and so on up. So the union of what
is advertised contains the union of what lives, at every moment; `RegionUpdate` keeps it so on the
other side of the link.

A removed region that others are under stays advertised until these have another absorber.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from covey._argument_checks import as_numeric_array
from covey.covering.cover_pointers import find_chain_roots
from covey.geometry import Regions
from covey.index import BruteForceIndex
from covey.routing.advertised_index import (
    AdvertisedRegions,
    BuildIndex,
    CoverPairs,
    find_covered_rows,
)
from covey.routing.growable_array import GrowableArray
from covey.routing.recent_buffer import find_maximal_covers
from covey.routing.region_log import RegionLog
from covey.routing.updates import RegionUpdate
from covey.space import Events
from covey.space.ragged_array import RaggedArray

__all__ = ["DEFAULT_MAX_UNINDEXED", "CoveringStrategy"]

Numbers = NDArray[np.int64]
DEFAULT_MAX_UNINDEXED = 4096
"""How many regions are compared one by one rather than indexed."""
_MAX_INEXACT = 32  # regions of one batch that must be compared by more than their points


class CoveringStrategy:
    """A `RoutingStrategy` that asks an index for covers; any exact index will do.

    The newest regions, at most `max_unindexed`, are not indexed; `remove` finds other absorbers for
    a quarter of as many at once.

    Cost: of an add, asking the indexes of what is advertised, and indexing it a few times while
    others arrive; of a remove, a pass over all regions, and an add for each that was under it.
    """

    def __init__(
        self,
        region_log: RegionLog,
        build_index: BuildIndex,
        *,
        max_unindexed: int = DEFAULT_MAX_UNINDEXED,
    ) -> None:
        self._region_log = region_log
        self._advertised_regions = AdvertisedRegions(region_log, build_index, max_unindexed)
        self._batch_size, self._max_reassigned = (
            max(1, max_unindexed // 2),
            max(1, max_unindexed // 4),
        )
        self._live_flags = GrowableArray(False)
        self._absorber_numbers = GrowableArray(-1)
        self._pending_withdrawals = np.empty(0, np.int64)

    @property
    def advertised_set(self) -> Numbers:
        """The numbers of all regions that are advertised, ascending."""
        return np.union1d(self._advertised_regions.numbers, self._pending_withdrawals)

    @property
    def is_fully_withdrawn(self) -> bool:
        return not len(self._pending_withdrawals)

    def admits(self, events: Events) -> NDArray[np.bool_]:
        """Cost: events × advertised regions; for tests and small tables."""
        answer = np.zeros(len(events), np.bool_)
        answer[
            BruteForceIndex(self._region_log.take(self.advertised_set)).match(events).query_rows
        ] = True
        return answer

    def add(self, numbers: Numbers, regions: Regions) -> RegionUpdate:
        self._live_flags.set(numbers, True)
        if len(numbers) <= self._batch_size:
            return self._insert_batch(numbers, regions)
        steps = []
        for start in range(0, len(numbers), self._batch_size):
            rows = np.arange(start, min(start + self._batch_size, len(numbers)))
            steps.append(self._insert_batch(numbers[rows], regions.take(rows)))
        return RegionUpdate.concat(steps)

    def remove(self, numbers: Numbers) -> RegionUpdate:
        self._live_flags.set(numbers, False)
        leaving = numbers[self._advertised_regions.contains(numbers)]
        self._advertised_regions.remove(leaving)
        self._pending_withdrawals = np.union1d(self._pending_withdrawals, leaving)
        return self.reassign_orphans(self._max_reassigned)

    def reassign_orphans(self, max_regions: int | None = None) -> RegionUpdate:
        if self.is_fully_withdrawn:
            return self._make_withdrawal([])
        living = np.flatnonzero(self._live_flags.values)
        roots = self._find_roots()[living]
        leaves = np.zeros(self._region_log.next_number, np.bool_)
        leaves[self._pending_withdrawals] = True
        is_open = leaves[roots]
        moved = living[is_open][:max_regions]
        steps = [self._make_withdrawal([])]
        for start in range(0, len(moved), self._batch_size):
            some = moved[start : start + self._batch_size]
            steps.append(self._insert_batch(some, self._region_log.take(some)))
        open_ = roots[is_open][len(moved) :]
        done = self._pending_withdrawals[~np.isin(self._pending_withdrawals, open_)]
        self._pending_withdrawals = np.setdiff1d(self._pending_withdrawals, done)
        return RegionUpdate.concat([*steps, self._make_withdrawal(done)])

    def prune(self) -> RegionUpdate:
        settled = self.reassign_orphans()
        return RegionUpdate.concat(
            [
                settled,
                self._make_withdrawal(self._record_absorbed(self._advertised_regions.merge_all())),
            ]
        )

    def build_sync_update(self, known: Numbers) -> RegionUpdate:
        known = as_numeric_array("known numbers", known, np.int64)
        numbers = np.setdiff1d(self.advertised_set, known)
        return RegionUpdate(
            self._region_log.take(numbers), numbers, np.setdiff1d(known, self.advertised_set)
        )

    def find_absorbers(self, numbers: Numbers) -> RaggedArray:
        return RaggedArray.from_lengths(
            np.ones(len(numbers), np.int64), self._find_roots()[numbers]
        )

    def _insert_batch(self, numbers: Numbers, regions: Regions) -> RegionUpdate:
        """Puts some regions under others, or advertises them."""
        corners = self._advertised_regions.encode_points(regions)
        over = self._advertised_regions.find_covering(regions, corners)
        self._absorber_numbers.set(numbers, over)
        left = np.flatnonzero(over < 0)
        if len(left) < len(numbers):
            numbers, regions, corners = numbers[left], regions.take(left), corners.take(left)
        if len(left) == 1:
            self._absorber_numbers.set(numbers, numbers)
            return RegionUpdate(
                regions,
                numbers,
                self._record_absorbed(self._advertised_regions.add(numbers, corners)),
            )
        if np.count_nonzero(~corners.is_exact) > _MAX_INEXACT:
            return self._insert_indexed(numbers, regions)
        under = find_maximal_covers(regions, corners)
        self._absorber_numbers.set(numbers, numbers[under])
        top = np.flatnonzero(under == np.arange(len(under)))
        numbers, regions, corners = numbers[top], regions.take(top), corners.take(top)
        return RegionUpdate(
            regions, numbers, self._record_absorbed(self._advertised_regions.add(numbers, corners))
        )

    def _insert_indexed(self, numbers: Numbers, regions: Regions) -> RegionUpdate:
        """As `_insert_batch`, for regions of which points say too little to be compared."""
        index = self._advertised_regions.build_index(regions)
        inner, outer = find_covered_rows(index, regions)
        self._absorber_numbers.set(numbers, numbers)
        self._absorber_numbers.set(numbers[inner], numbers[outer])
        top = np.setdiff1d(np.arange(len(numbers)), inner)
        under = self._advertised_regions.add_indexed(numbers, index, top)
        return RegionUpdate(regions.take(top), numbers[top], self._record_absorbed(under))

    def _record_absorbed(self, pairs: CoverPairs) -> Numbers:
        """Notes what was found to be under others; gives what is to be withdrawn for it."""
        covered, by = pairs
        self._absorber_numbers.set(covered, by)
        return covered

    def _find_roots(self) -> Numbers:
        """For each region the one at the top of those it is under."""
        return find_chain_roots(self._absorber_numbers.values[: self._region_log.next_number])

    def _make_withdrawal(self, numbers: ArrayLike) -> RegionUpdate:
        nothing = Regions(self._region_log.space, 0, {})
        return RegionUpdate(nothing, np.empty(0, np.int64), np.asarray(numbers, np.int64))
