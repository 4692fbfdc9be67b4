"""The advertised regions of a table, searched for one that covers a region.

The newest are few, and compared one by one. When they have become many they are indexed; eight
indexes of about one size are merged into one. What is withdrawn stays in its index until that is
merged, and is left out of answers.

A new region is not covered by an older one, or it would not be here. That it covers older ones is
found when they are merged: each region then asks for a cover. To ask for all that a new one covers
would cost fifty times as much.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from covey.geometry import Regions
from covey.geometry.relations import covers
from covey.index import Index
from covey.routing.dominance import DominancePoints
from covey.routing.growable_array import GrowableArray
from covey.routing.recent_buffer import RecentBuffer
from covey.routing.region_log import RegionLog

__all__ = ["NO_PAIRS", "AdvertisedRegions", "BuildIndex", "CoverPairs", "find_covered_rows"]

Numbers = NDArray[np.int64]
Bools = NDArray[np.bool_]
BuildIndex = Callable[[Regions], Index]
"""How regions are indexed."""
CoverPairs = tuple[Numbers, Numbers]
"""Numbers of regions, and for each that of one which covers it."""
NO_PAIRS: CoverPairs = (np.empty(0, np.int64), np.empty(0, np.int64))
_MERGE_FACTOR = 8
_MAX_REMAINING_SHARE = 0.75


@dataclass(frozen=True, slots=True, eq=False)
class _IndexedBlock:
    """Some regions, by number."""

    numbers: Numbers
    index: Index


class AdvertisedRegions:
    """Advertised regions by number, out of those in the log.

    Cost: each is indexed about log8(n / 4,096) times while others come, and a few times as many
    indexes are searched; after `merge_all` only one.
    """

    def __init__(self, region_log: RegionLog, build_index: BuildIndex, max_unindexed: int) -> None:
        self.region_log = region_log
        self._build_index = build_index
        self._recent_buffer = RecentBuffer(region_log, max_unindexed)
        self._blocks: list[_IndexedBlock] = []
        self._flags = GrowableArray(False)

    @property
    def numbers(self) -> Numbers:
        """All of them, ascending."""
        return np.flatnonzero(self._advertised_flags)

    def contains(self, numbers: Numbers) -> Bools:
        """Whether each is advertised."""
        return self._flags.get(numbers)

    def encode_points(self, regions: Regions) -> DominancePoints:
        """Regions as points, for `add` and `find_covering`."""
        return self._recent_buffer.encode_points(regions)

    def add(self, numbers: Numbers, points: DominancePoints) -> CoverPairs:
        """Adds regions of the log that are new here, at most `max_unindexed`.

        Gives those that were found to be under others, which are removed.
        """
        under = NO_PAIRS
        if not self._recent_buffer.has_room(len(numbers)):
            under = self._index_recent()
        self._flags.set(numbers, True)
        self._recent_buffer.add(numbers, points)
        return under

    def add_indexed(self, numbers: Numbers, index: Index, advertised_rows: Numbers) -> CoverPairs:
        """Adds regions that are indexed already; only `advertised_rows` of them are advertised."""
        self._flags.set(numbers, False)
        self._advertised_flags[numbers[advertised_rows]] = True
        return self._append_block(_IndexedBlock(numbers, index))

    def build_index(self, regions: Regions) -> Index:
        """An index of regions, for `add_indexed`."""
        return self._build_index(regions)

    def remove(self, numbers: Numbers) -> None:
        """Removes regions."""
        self._flags.set(numbers, False)

    def merge_all(self) -> CoverPairs:
        """Merges all there is, so that no region is under another; gives those that were."""
        numbers = [*(part.numbers for part in self._blocks), self._recent_buffer.clear()]
        return self._merge_blocks(numbers, len(self._blocks))

    def find_covering(self, regions: Regions, points: DominancePoints) -> Numbers:
        """For each region the number of one that covers it, -1 where there is none."""
        found = self._recent_buffer.find_covering(regions, points, self._advertised_flags)
        rows = np.arange(len(regions))
        for part in self._blocks:
            left = np.flatnonzero(found[rows] < 0)
            if not len(left):
                break
            # To take more of them apart would cost more.
            if len(left) <= _MAX_REMAINING_SHARE * len(rows):
                rows, regions, left = rows[left], regions.take(left), np.arange(len(left))
            found[rows[left]] = self._find_covering_in_block(part, regions)[left]
        return found

    def _find_covering_in_block(self, block: _IndexedBlock, regions: Regions) -> Numbers:
        found = np.full(len(regions), -1, np.int64)
        one = block.index.find_covering(regions, limit=1)
        found[one.query_rows] = block.numbers[one.stored_rows]
        dead = np.flatnonzero((found >= 0) & ~self._advertised_flags[found])
        if len(dead):  # another one may be alive
            every = block.index.find_covering(regions.take(dead))
            numbers = block.numbers[every.stored_rows]
            alive = self._advertised_flags[numbers]
            found[dead] = -1
            found[dead[every.query_rows[alive]]] = numbers[alive]
        return found

    @property
    def _advertised_flags(self) -> Bools:
        return self._flags.values

    def _index_recent(self) -> CoverPairs:
        """Makes an index of the newest."""
        numbers = self._select_advertised(self._recent_buffer.clear())
        if not len(numbers):
            return NO_PAIRS
        return self._append_block(
            _IndexedBlock(numbers, self._build_index(self.region_log.take(numbers)))
        )

    def _select_advertised(self, numbers: Numbers) -> Numbers:
        """Those that are advertised, ascending and each once: some may be in two blocks."""
        advertised = numbers[self._advertised_flags[numbers]]
        numbers = np.sort(advertised, kind="stable")  # runs that ascend
        return numbers[np.diff(numbers, prepend=-1) > 0]

    def _append_block(self, block: _IndexedBlock) -> CoverPairs:
        """Adds a block, and merges several of its size."""
        self._blocks.append(block)
        under = [NO_PAIRS]
        while (count := self._count_similar_blocks()) >= _MERGE_FACTOR:
            under.append(
                self._merge_blocks([part.numbers for part in self._blocks[-count:]], count)
            )
        return _concat_pairs(under)

    def _count_similar_blocks(self) -> int:
        """How many of the last blocks are not larger than the last."""
        levels = [self._size_level(part) for part in self._blocks]
        larger = [i for i, level in enumerate(levels) if level > levels[-1]]
        return len(levels) - (larger[-1] + 1 if larger else 0)

    def _size_level(self, block: _IndexedBlock) -> int:
        """How large it is: one more for eight times as many."""
        return (2 * len(block.numbers) // self._recent_buffer.capacity).bit_length() // 3

    def _merge_blocks(self, block_numbers: Sequence[Numbers], block_count: int) -> CoverPairs:
        """Replaces the last blocks by one of these regions; gives those that others of it cover."""
        del self._blocks[len(self._blocks) - block_count :]
        numbers = self._select_advertised(np.concatenate([np.empty(0, np.int64), *block_numbers]))
        if not len(numbers):
            return NO_PAIRS
        regions = self.region_log.take(numbers)
        part = _IndexedBlock(numbers, self._build_index(regions))
        self._blocks.append(part)
        inner, outer = find_covered_rows(part.index, regions)
        self._advertised_flags[numbers[inner]] = False
        return numbers[inner], numbers[outer]


def find_covered_rows(index: Index, regions: Regions) -> tuple[Numbers, Numbers]:
    """Rows of indexed regions that others cover, and for each one that does; of equal ones the
    first is not covered by the others.
    """
    two = index.find_covering(regions, limit=2)
    inner, outer = two.query_rows.astype(np.int64), two.stored_rows.astype(np.int64)
    others = np.flatnonzero(inner != outer)
    inner, outer = inner[others], outer[others]
    later = outer > inner
    later[later] = covers(regions, inner[later], regions, outer[later])
    if later.any():  # equal to a later one, and perhaps under a third
        equal = np.unique(inner[later])
        every = index.find_covering(regions.take(equal))
        more, over = equal[every.query_rows], every.stored_rows.astype(np.int64)
        strict = more != over
        more, over = more[strict], over[strict]
        is_equal = covers(regions, more, regions, over)
        kept = ~is_equal | (over < more)
        inner = np.concatenate([inner[~later], more[kept]])
        outer = np.concatenate([outer[~later], over[kept]])
    rows, first = np.unique(inner, return_index=True)
    return rows, outer[first]


def _concat_pairs(pairs: Sequence[CoverPairs]) -> CoverPairs:
    inner, outer = (np.concatenate(some) for some in zip(*pairs, strict=True))
    return inner, outer
