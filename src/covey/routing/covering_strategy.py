"""Routing strategies that advertise regions: each region is advertised or has an absorber.

The absorber of a region covers it, and may have an absorber itself. The union of the advertised
regions therefore contains the union of the live regions at every moment. This is also true on the
other side of the link, because an update first advertises and then withdraws.

A removed region that is the absorber of other regions remains advertised until these have other
absorbers.
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
"""Largest number of the newest regions that are compared one by one, without an index."""
_MAX_INEXACT = 32  # regions of a batch whose points do not decide; with more, an index is built


class CoveringStrategy:
    """A `RoutingStrategy` that finds covers with any `Index`.

    Args:
        region_log: the regions of the routing table.
        build_index: a function that builds an index of regions.
        max_unindexed: largest number of the newest advertised regions that are not indexed. A call
            of `remove` finds other absorbers for at most a quarter of this number of regions.

    Cost: an add searches the indexes of advertised regions, and each advertised region is indexed a
    few times while others arrive. Removing advertised regions takes a pass over all regions, and
    an add for each region that they absorbed.
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
        """Numbers of all advertised regions, ascending."""
        return np.union1d(self._advertised_regions.numbers, self._pending_withdrawals)

    @property
    def is_fully_withdrawn(self) -> bool:
        """True if no removed region is advertised."""
        return not len(self._pending_withdrawals)

    def admits(self, events: Events) -> NDArray[np.bool_]:
        """Return for each event whether an advertised region contains it.

        Cost: events × advertised regions, so use it for tests and small tables only.
        """
        is_admitted = np.zeros(len(events), np.bool_)
        result = BruteForceIndex(self._region_log.take(self.advertised_set)).match(events)
        is_admitted[result.possible_pairs.query_rows] = True
        return is_admitted

    def add(self, numbers: Numbers, regions: Regions) -> RegionUpdate:
        """Add regions under new numbers; return the update for the link."""
        self._live_flags.set(numbers, True)
        if len(numbers) <= self._batch_size:
            return self._insert_batch(numbers, regions)
        updates = []
        for start in range(0, len(numbers), self._batch_size):
            rows = np.arange(start, min(start + self._batch_size, len(numbers)))
            updates.append(self._insert_batch(numbers[rows], regions.take(rows)))
        return RegionUpdate.concat(updates)

    def remove(self, numbers: Numbers) -> RegionUpdate:
        """Remove regions; return the update for the link.

        A removed region that absorbs too many other regions is withdrawn by a later update.
        """
        self._live_flags.set(numbers, False)
        leaving = numbers[self._advertised_regions.contains(numbers)]
        self._advertised_regions.remove(leaving)
        self._pending_withdrawals = np.union1d(self._pending_withdrawals, leaving)
        return self.reassign_orphans(self._max_reassigned)

    def reassign_orphans(self, max_regions: int | None = None) -> RegionUpdate:
        """Find other absorbers for live regions whose absorber was removed.

        At most `max_regions` regions are reassigned; None means all. Return the update for the
        link, which also withdraws the removed regions that no longer absorb a live region.
        """
        if self.is_fully_withdrawn:
            return self._make_withdrawal([])
        live_numbers = np.flatnonzero(self._live_flags.values)
        roots = self._find_roots()[live_numbers]
        is_pending = np.zeros(self._region_log.next_number, np.bool_)
        is_pending[self._pending_withdrawals] = True
        is_orphan = is_pending[roots]
        reassigned = live_numbers[is_orphan][:max_regions]
        updates = [self._make_withdrawal([])]
        for start in range(0, len(reassigned), self._batch_size):
            batch_numbers = reassigned[start : start + self._batch_size]
            updates.append(self._insert_batch(batch_numbers, self._region_log.take(batch_numbers)))
        remaining_roots = roots[is_orphan][len(reassigned) :]
        done = self._pending_withdrawals[~np.isin(self._pending_withdrawals, remaining_roots)]
        self._pending_withdrawals = np.setdiff1d(self._pending_withdrawals, done)
        return RegionUpdate.concat([*updates, self._make_withdrawal(done)])

    def prune(self) -> RegionUpdate:
        """Reassign all orphans; withdraw every region that another advertised region covers."""
        reassignment = self.reassign_orphans()
        return RegionUpdate.concat(
            [
                reassignment,
                self._make_withdrawal(self._record_absorbed(self._advertised_regions.merge_all())),
            ]
        )

    def build_sync_update(self, known: Numbers) -> RegionUpdate:
        """Return the update after which exactly `advertised_set` is advertised on the link.

        `known` has the numbers of the regions that are advertised on the link before the update.
        """
        known = as_numeric_array("known", known, np.int64)
        numbers = np.setdiff1d(self.advertised_set, known)
        return RegionUpdate(
            self._region_log.take(numbers), numbers, np.setdiff1d(known, self.advertised_set)
        )

    def find_absorbers(self, numbers: Numbers) -> RaggedArray:
        """Return for each region the number of the region at the end of its chain of absorbers."""
        return RaggedArray.from_lengths(
            np.ones(len(numbers), np.int64), self._find_roots()[numbers]
        )

    def _insert_batch(self, numbers: Numbers, regions: Regions) -> RegionUpdate:
        """Find absorbers for regions, and return the update for the link.

        The update advertises the regions for which no absorber is found.
        """
        points = self._advertised_regions.encode_points(regions)
        covering_numbers = self._advertised_regions.find_covering(regions, points)
        self._absorber_numbers.set(numbers, covering_numbers)
        uncovered = np.flatnonzero(covering_numbers < 0)
        if len(uncovered) < len(numbers):
            numbers = numbers[uncovered]
            regions, points = regions.take(uncovered), points.take(uncovered)
        if len(uncovered) == 1:
            self._absorber_numbers.set(numbers, numbers)
            return RegionUpdate(
                regions,
                numbers,
                self._record_absorbed(self._advertised_regions.add(numbers, points)),
            )
        if np.count_nonzero(~points.is_exact) > _MAX_INEXACT:
            return self._insert_indexed(numbers, regions)
        cover_rows = find_maximal_covers(regions, points)
        self._absorber_numbers.set(numbers, numbers[cover_rows])
        maximal = np.flatnonzero(cover_rows == np.arange(len(cover_rows)))
        numbers, regions, points = numbers[maximal], regions.take(maximal), points.take(maximal)
        return RegionUpdate(
            regions, numbers, self._record_absorbed(self._advertised_regions.add(numbers, points))
        )

    def _insert_indexed(self, numbers: Numbers, regions: Regions) -> RegionUpdate:
        """Find absorbers among regions that no advertised region covers; return the update.

        This is the last step of `_insert_batch` for regions that points cannot compare: covers are
        found with an index.
        """
        index = self._advertised_regions.build_index(regions)
        inner, outer = find_covered_rows(index, regions)
        self._absorber_numbers.set(numbers, numbers)
        self._absorber_numbers.set(numbers[inner], numbers[outer])
        maximal = np.setdiff1d(np.arange(len(numbers)), inner)
        absorbed_pairs = self._advertised_regions.add_indexed(numbers, index, maximal)
        return RegionUpdate(
            regions.take(maximal), numbers[maximal], self._record_absorbed(absorbed_pairs)
        )

    def _record_absorbed(self, pairs: CoverPairs) -> Numbers:
        """Record the absorbers of covered regions; return the numbers to withdraw."""
        covered, covering_numbers = pairs
        self._absorber_numbers.set(covered, covering_numbers)
        return covered

    def _find_roots(self) -> Numbers:
        """Return, by region number, the number of the region at the end of its absorber chain."""
        return find_chain_roots(self._absorber_numbers.values[: self._region_log.next_number])

    def _make_withdrawal(self, numbers: ArrayLike) -> RegionUpdate:
        """Return an update that only withdraws these numbers."""
        no_regions = Regions(self._region_log.space, 0, {})
        return RegionUpdate(no_regions, np.empty(0, np.int64), np.asarray(numbers, np.int64))
