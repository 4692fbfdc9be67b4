"""Updates that a table sends to a link, of regions or of cells: advertise, then withdraw.

In this order nothing is lost: whoever applies all updates, one after another, has advertised at
every moment a superset of what lives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from covey.geometry import Regions
from covey.geometry.range_sets import RangeSet

__all__ = ["CellUpdate", "RegionUpdate", "RoutingUpdate"]

Numbers = NDArray[np.int64]


class RoutingUpdate(Protocol):
    """What a link must advertise, then withdraw."""

    def __bool__(self) -> bool:
        """Whether there is anything to do."""
        ...

    @classmethod
    def concat(cls, updates: Sequence[Self]) -> Self:
        """What some updates come to, one after another."""
        ...


@dataclass(frozen=True, slots=True)
class RegionUpdate:
    """Regions to be advertised, each under a number of its own, and then numbers to be withdrawn.

    Who carries them out in this order has advertised, at every moment, all that lives.
    """

    regions: Regions
    advertised: Numbers
    withdrawn: Numbers

    def __bool__(self) -> bool:
        """Whether there is anything to do."""
        return bool(len(self.advertised) or len(self.withdrawn))

    @classmethod
    def concat(cls, updates: Sequence[RegionUpdate]) -> RegionUpdate:
        """What some updates come to, one after another.

        A number that one advertises and a later one withdraws, or the other way round, is in
        neither list: the link has it, or has it not, as before.
        """
        updates = [part for part in updates if part] or updates[:1]
        if len(updates) == 1:
            return updates[0]
        advertised = np.concatenate([part.advertised for part in updates])
        withdrawn = np.concatenate([part.withdrawn for part in updates])
        numbers, of = np.unique(np.concatenate([advertised, withdrawn]), return_inverse=True)
        signs = np.repeat([1, -1], [len(advertised), len(withdrawn)])
        change = np.bincount(of, signs, len(numbers))
        first = np.unique(advertised, return_index=True)[1]
        kept = first[np.isin(advertised[first], numbers[change > 0])]
        regions = Regions.concat([part.regions for part in updates]).take(kept)
        return cls(regions, advertised[kept], numbers[change < 0])


@dataclass(frozen=True, slots=True)
class CellUpdate:
    """Positions of cells to be advertised, all of them, and then positions to be withdrawn.

    >>> one = CellUpdate(RangeSet.from_ranges([0], [9]), RangeSet.empty())
    >>> two = CellUpdate(RangeSet.from_ranges([20], [29]), RangeSet.from_ranges([5], [9]))
    >>> both = CellUpdate.concat([one, two])
    >>> list(both.advertised), list(both.withdrawn)
    ([(0, 4), (20, 29)], [])
    """

    advertised: RangeSet
    withdrawn: RangeSet

    @classmethod
    def empty(cls) -> CellUpdate:
        """Nothing to do."""
        return cls(RangeSet.empty(), RangeSet.empty())

    @classmethod
    def concat(cls, updates: Sequence[CellUpdate]) -> CellUpdate:
        """What some updates come to, one after another.

        A position that one advertises and a later one withdraws, or the other way round, is in
        neither set: the link has it, or has it not, as before.
        """
        known, gone = RangeSet.empty(), RangeSet.empty()
        for part in updates:
            known, gone = (
                (known - part.withdrawn) | (part.advertised - gone),
                (gone - part.advertised) | (part.withdrawn - known),
            )
        return cls(known, gone)

    def __bool__(self) -> bool:
        return bool(len(self.advertised) or len(self.withdrawn))
