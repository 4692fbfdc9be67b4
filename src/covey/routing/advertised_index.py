"""Index of the advertised regions of a routing table, to find one that covers a region.

The newest regions are compared one by one. When there are too many of them, they are indexed; eight
indexes of about the same size are merged into one. A withdrawn region stays in its index until the
next merge, but searches do not return it.

An older region never covers a newer one, because then the newer region would not be advertised.
Older regions that a newer region covers are found in merges, which search for one cover of each
region. This is fifty times faster than to search for all regions that each new region covers.
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
"""Function that builds an index of regions."""
CoverPairs = tuple[Numbers, Numbers]
"""Numbers of covered regions, and for each of them the number of a region that covers it."""
NO_PAIRS: CoverPairs = (np.empty(0, np.int64), np.empty(0, np.int64))
_MERGE_FACTOR = 8
_MAX_REMAINING_SHARE = 0.75


@dataclass(frozen=True, slots=True, eq=False)
class _IndexedBlock:
    """Index of some regions, with their numbers."""

    numbers: Numbers
    index: Index


class AdvertisedRegions:
    """Advertised regions by number; the regions themselves are in `region_log`.

    Cost: each region is indexed about log8(n / max_unindexed) times while n others arrive. The
    number of indexes is a few times this logarithm, and a search queries all of them; after
    `merge_all` there is only one index.
    """

    def __init__(self, region_log: RegionLog, build_index: BuildIndex, max_unindexed: int) -> None:
        self.region_log = region_log
        self._build_index = build_index
        self._recent_buffer = RecentBuffer(region_log, max_unindexed)
        self._blocks: list[_IndexedBlock] = []
        self._flags = GrowableArray(False)

    @property
    def numbers(self) -> Numbers:
        """Numbers of all advertised regions, ascending."""
        return np.flatnonzero(self._advertised_flags)

    def contains(self, numbers: Numbers) -> Bools:
        """Return for each number whether its region is advertised."""
        return self._flags.get(numbers)

    def encode_points(self, regions: Regions) -> DominancePoints:
        """Return regions as points, for `add` and `find_covering`."""
        return self._recent_buffer.encode_points(regions)

    def add(self, numbers: Numbers, points: DominancePoints) -> CoverPairs:
        """Add at most `max_unindexed` regions of the log that are not advertised yet.

        Return the covered regions that merges found, each with a region that covers it. The covered
        regions are removed.
        """
        pairs = NO_PAIRS
        if not self._recent_buffer.has_room(len(numbers)):
            pairs = self._index_recent()
        self._flags.set(numbers, True)
        self._recent_buffer.add(numbers, points)
        return pairs

    def add_indexed(self, numbers: Numbers, index: Index, advertised_rows: Numbers) -> CoverPairs:
        """Add regions together with an index of them; only `advertised_rows` are advertised.

        Return the covered regions that merges found, each with a region that covers it. The covered
        regions are removed.
        """
        self._flags.set(numbers, False)
        self._advertised_flags[numbers[advertised_rows]] = True
        return self._append_block(_IndexedBlock(numbers, index))

    def build_index(self, regions: Regions) -> Index:
        """Return an index of regions, for `add_indexed`."""
        return self._build_index(regions)

    def remove(self, numbers: Numbers) -> None:
        """Remove regions; those that are not advertised are ignored."""
        self._flags.set(numbers, False)

    def merge_all(self) -> CoverPairs:
        """Merge all regions into one index, and remove covered regions.

        Return the covered regions, each with a region that covers it.
        """
        numbers = [*(part.numbers for part in self._blocks), self._recent_buffer.clear()]
        return self._merge_blocks(numbers, len(self._blocks))

    def find_covering(self, regions: Regions, points: DominancePoints) -> Numbers:
        """Return for each region the number of an advertised region that covers it, or -1."""
        covering_numbers = self._recent_buffer.find_covering(
            regions, points, self._advertised_flags
        )
        rows = np.arange(len(regions))
        for part in self._blocks:
            uncovered = np.flatnonzero(covering_numbers[rows] < 0)
            if not len(uncovered):
                break
            # If nearly all rows remain, copying them would cost more than searching for all.
            if len(uncovered) <= _MAX_REMAINING_SHARE * len(rows):
                rows = rows[uncovered]
                regions = regions.take(uncovered)
                uncovered = np.arange(len(uncovered))
            covering_numbers[rows[uncovered]] = self._find_covering_in_block(part, regions)[
                uncovered
            ]
        return covering_numbers

    def _find_covering_in_block(self, block: _IndexedBlock, regions: Regions) -> Numbers:
        """Return for each region the number of an advertised region that covers it, or -1.

        Only regions of the block are searched.
        """
        covering_numbers = np.full(len(regions), -1, np.int64)
        first_pairs = block.index.find_covering(regions, limit=1)
        covering_numbers[first_pairs.query_rows] = block.numbers[first_pairs.stored_rows]
        withdrawn = np.flatnonzero(
            (covering_numbers >= 0) & ~self._advertised_flags[covering_numbers]
        )
        if len(withdrawn):  # another advertised region may cover them
            all_pairs = block.index.find_covering(regions.take(withdrawn))
            numbers = block.numbers[all_pairs.stored_rows]
            is_advertised = self._advertised_flags[numbers]
            covering_numbers[withdrawn] = -1
            covering_numbers[withdrawn[all_pairs.query_rows[is_advertised]]] = numbers[
                is_advertised
            ]
        return covering_numbers

    @property
    def _advertised_flags(self) -> Bools:
        """Flags by region number: True if the region is advertised."""
        return self._flags.values

    def _index_recent(self) -> CoverPairs:
        """Move the newest regions to an index; return the covered regions that merges find."""
        numbers = self._select_advertised(self._recent_buffer.clear())
        if not len(numbers):
            return NO_PAIRS
        return self._append_block(
            _IndexedBlock(numbers, self._build_index(self.region_log.take(numbers)))
        )

    def _select_advertised(self, numbers: Numbers) -> Numbers:
        """Return the advertised numbers, ascending and each once; a number may be in two blocks."""
        advertised = numbers[self._advertised_flags[numbers]]
        numbers = np.sort(advertised, kind="stable")  # fast, because the input has ascending runs
        return numbers[np.diff(numbers, prepend=-1) > 0]

    def _append_block(self, block: _IndexedBlock) -> CoverPairs:
        """Append a block, and merge blocks of its size; return covered regions that merges find."""
        self._blocks.append(block)
        pairs = [NO_PAIRS]
        while (count := self._count_similar_blocks()) >= _MERGE_FACTOR:
            pairs.append(
                self._merge_blocks([part.numbers for part in self._blocks[-count:]], count)
            )
        return _concat_pairs(pairs)

    def _count_similar_blocks(self) -> int:
        """Count the blocks at the end that are similar in size to the last block.

        Blocks are counted backwards from the last block, until one has a larger size level.
        """
        levels = [self._size_level(part) for part in self._blocks]
        larger = [i for i, level in enumerate(levels) if level > levels[-1]]
        return len(levels) - (larger[-1] + 1 if larger else 0)

    def _size_level(self, block: _IndexedBlock) -> int:
        """Return the size level of a block; it grows by 1 when the size is multiplied by 8.

        All blocks with fewer than 2 · `max_unindexed` regions have level 0.
        """
        return (2 * len(block.numbers) // self._recent_buffer.capacity).bit_length() // 3

    def _merge_blocks(self, block_numbers: Sequence[Numbers], block_count: int) -> CoverPairs:
        """Replace the last `block_count` blocks by one, and remove covered regions.

        The new block has the regions of `block_numbers` that are advertised. Return the covered
        regions, each with a region that covers it.
        """
        del self._blocks[len(self._blocks) - block_count :]
        numbers = self._select_advertised(np.concatenate([np.empty(0, np.int64), *block_numbers]))
        if not len(numbers):
            return NO_PAIRS
        regions = self.region_log.take(numbers)
        block = _IndexedBlock(numbers, self._build_index(regions))
        self._blocks.append(block)
        inner, outer = find_covered_rows(block.index, regions)
        self._advertised_flags[numbers[inner]] = False
        return numbers[inner], numbers[outer]


def find_covered_rows(index: Index, regions: Regions) -> tuple[Numbers, Numbers]:
    """Return the rows of regions that other regions cover, and for each the row of a cover.

    `index` is an index of `regions`. The first of several equal regions does not count as covered
    by the others.
    """
    first_pairs = index.find_covering(regions, limit=2)
    inner, outer = first_pairs.query_rows.astype(np.int64), first_pairs.stored_rows.astype(np.int64)
    different = np.flatnonzero(inner != outer)
    inner, outer = inner[different], outer[different]
    is_equal_to_later = outer > inner
    is_equal_to_later[is_equal_to_later] = covers(
        regions, inner[is_equal_to_later], regions, outer[is_equal_to_later]
    )
    if is_equal_to_later.any():  # these may be covered by a third region
        equal = np.unique(inner[is_equal_to_later])
        all_pairs = index.find_covering(regions.take(equal))
        inner_again = equal[all_pairs.query_rows]
        outer_again = all_pairs.stored_rows.astype(np.int64)
        strict = inner_again != outer_again
        inner_again, outer_again = inner_again[strict], outer_again[strict]
        is_equal = covers(regions, inner_again, regions, outer_again)
        is_kept = ~is_equal | (outer_again < inner_again)
        inner = np.concatenate([inner[~is_equal_to_later], inner_again[is_kept]])
        outer = np.concatenate([outer[~is_equal_to_later], outer_again[is_kept]])
    rows, first = np.unique(inner, return_index=True)
    return rows, outer[first]


def _concat_pairs(pairs: Sequence[CoverPairs]) -> CoverPairs:
    """Return all pairs as one pair of arrays."""
    inner, outer = (np.concatenate(rows) for rows in zip(*pairs, strict=True))
    return inner, outer
