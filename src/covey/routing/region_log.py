"""Log of all regions of a routing table by number, whether they are advertised or not.

Regions are numbered in the order of arrival, from `first_number` on. They are stored in consecutive
blocks; small blocks are merged, so that the number of blocks remains small.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from covey.geometry import Regions
from covey.space import Space

__all__ = ["RegionLog"]

Numbers = NDArray[np.int64]
_MERGE_FACTOR = 16


@dataclass(slots=True)
class RegionLog:
    """Regions by number. Cost: a region is copied about log16(n) times while n others arrive."""

    space: Space
    first_number: int = 0
    _blocks: list[Regions] = field(default_factory=list)
    _starts: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self._starts = [self.first_number]

    @property
    def next_number(self) -> int:
        """Number that the next region will have."""
        return self._starts[-1]

    def append(self, regions: Regions) -> Numbers:
        """Append regions; return their numbers, which are consecutive."""
        first = self.next_number
        self._blocks.append(regions)
        self._starts.append(first + len(regions))
        while len(self._blocks) >= _MERGE_FACTOR and self._are_similar_in_size(_MERGE_FACTOR):
            merged_blocks = self._blocks[-_MERGE_FACTOR:]
            del self._blocks[-_MERGE_FACTOR:], self._starts[-_MERGE_FACTOR:-1]
            self._blocks.append(Regions.concat(merged_blocks))
        return np.arange(first, self.next_number)

    def take(self, numbers: Numbers) -> Regions:
        """Return the regions with these numbers, in this order."""
        if len(self._blocks) == 1:
            return self._blocks[0].take(numbers - self.first_number)
        order = None
        if len(numbers) > 1 and (np.diff(numbers) < 0).any():
            order = np.argsort(numbers)
            numbers = numbers[order]
        splits = np.searchsorted(numbers, self._starts)
        parts = [Regions(self.space, 0, {})]
        for block, first, start, stop in zip(
            self._blocks, self._starts, splits, splits[1:], strict=False
        ):
            if start < stop:
                parts.append(block.take(numbers[start:stop] - first))
        regions = parts[1] if len(parts) == 2 else Regions.concat(parts)
        return regions if order is None else regions.take(np.argsort(order))

    def _are_similar_in_size(self, block_count: int) -> bool:
        """Return whether the last `block_count` blocks are similar enough in size to be merged.

        They are if the first of them is at most 16 times as large as the largest of the others.
        """
        sizes = [stop - start for start, stop in pairwise(self._starts[-block_count - 1 :])]
        return sizes[0] <= _MERGE_FACTOR * max(sizes[1:])
