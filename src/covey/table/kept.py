"""All regions of a table by number, whether they are advertised or not.

Numbers are given in the order of arrival. Regions are in blocks, one after another; small blocks
are put together, so that there are few.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from covey.geometry import Regions
from covey.space import Space

__all__ = ["Kept"]

Numbers = NDArray[np.int64]
_FACTOR = 8


@dataclass(slots=True)
class Kept:
    """Regions by number. Cost: a region is copied about log8(n) times while others arrive."""

    space: Space
    _blocks: list[Regions] = field(default_factory=list)
    _starts: list[int] = field(default_factory=lambda: [0])

    def __len__(self) -> int:
        return self._starts[-1]

    def add(self, regions: Regions) -> Numbers:
        """Keeps regions; gives their numbers."""
        first = len(self)
        self._blocks.append(regions)
        self._starts.append(first + len(regions))
        while len(self._blocks) >= _FACTOR and self._are_alike(_FACTOR):
            some = self._blocks[-_FACTOR:]
            del self._blocks[-_FACTOR:], self._starts[-_FACTOR:-1]
            self._blocks.append(Regions.concat(some))
        return np.arange(first, len(self))

    def take(self, numbers: Numbers) -> Regions:
        """The regions with these numbers, in their order."""
        of = np.searchsorted(self._starts, numbers, "right") - 1
        parts, places = [Regions(self.space, 0, {})], [np.empty(0, np.int64)]
        for block in np.unique(of):
            mine = np.flatnonzero(of == block)
            parts.append(self._blocks[block].take(numbers[mine] - self._starts[block]))
            places.append(mine)
        order = np.argsort(np.concatenate(places))
        return Regions.concat(parts).take(order)

    def _are_alike(self, last: int) -> bool:
        """Whether the first of the last blocks is not much larger than the others."""
        sizes = np.diff(self._starts)[-last:]
        return bool(sizes[0] <= _FACTOR * sizes[1:].max())
