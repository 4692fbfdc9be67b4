"""Routing updates: the regions or cells that a link must first advertise, then withdraw.

If the link applies all updates of a routing table in their order, the advertised regions or cells
contain all live regions of the table at every moment.
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
    """Protocol of routing updates: what a link must advertise, and then withdraw."""

    def __bool__(self) -> bool:
        """Return whether the update changes anything."""
        ...

    @classmethod
    def concat(cls, updates: Sequence[Self]) -> Self:
        """Return one update with the effect of several consecutive ones."""
        ...


@dataclass(frozen=True, slots=True)
class RegionUpdate:
    """Regions that a link must advertise, and numbers of regions that it must then withdraw.

    Args:
        regions: the regions to advertise.
        advertised: the number of each of these regions.
        withdrawn: the numbers to withdraw afterwards.
    """

    regions: Regions
    advertised: Numbers
    withdrawn: Numbers

    def __bool__(self) -> bool:
        """Return whether the update changes anything."""
        return bool(len(self.advertised) or len(self.withdrawn))

    @classmethod
    def concat(cls, updates: Sequence[RegionUpdate]) -> RegionUpdate:
        """Return one update with the effect of several consecutive ones.

        If one update advertises a number and another update withdraws it, the number is in neither
        list of the result, because the two updates together change nothing for it.
        """
        updates = [part for part in updates if part] or updates[:1]
        if len(updates) == 1:
            return updates[0]
        advertised = np.concatenate([part.advertised for part in updates])
        withdrawn = np.concatenate([part.withdrawn for part in updates])
        numbers, number_rows = np.unique(
            np.concatenate([advertised, withdrawn]), return_inverse=True
        )
        signs = np.repeat([1, -1], [len(advertised), len(withdrawn)])
        change = np.bincount(number_rows, signs, len(numbers))
        first = np.unique(advertised, return_index=True)[1]
        kept_rows = first[np.isin(advertised[first], numbers[change > 0])]
        regions = Regions.concat([part.regions for part in updates]).take(kept_rows)
        return cls(regions, advertised[kept_rows], numbers[change < 0])


@dataclass(frozen=True, slots=True)
class CellUpdate:
    """Cells that a link must advertise, and cells that it must then withdraw.

    Cells are ranges of positions on Hilbert's curve.

    >>> first = CellUpdate(RangeSet.from_ranges([0], [9]), RangeSet.empty())
    >>> second = CellUpdate(RangeSet.from_ranges([20], [29]), RangeSet.from_ranges([5], [9]))
    >>> both = CellUpdate.concat([first, second])
    >>> list(both.advertised), list(both.withdrawn)
    ([(0, 4), (20, 29)], [])
    """

    advertised: RangeSet
    withdrawn: RangeSet

    @classmethod
    def empty(cls) -> CellUpdate:
        """Return an update that changes nothing."""
        return cls(RangeSet.empty(), RangeSet.empty())

    @classmethod
    def concat(cls, updates: Sequence[CellUpdate]) -> CellUpdate:
        """Return one update with the effect of several consecutive ones.

        If one update advertises a position and another update withdraws it, the position is in
        neither set of the result, because the two updates together change nothing for it.
        """
        advertised, withdrawn = RangeSet.empty(), RangeSet.empty()
        for part in updates:
            advertised, withdrawn = (
                (advertised - part.withdrawn) | (part.advertised - withdrawn),
                (withdrawn - part.advertised) | (part.withdrawn - advertised),
            )
        return cls(advertised, withdrawn)

    def __bool__(self) -> bool:
        return bool(len(self.advertised) or len(self.withdrawn))
