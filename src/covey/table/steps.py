"""What a table tells a link to do, in the order that loses nothing: advertise, then withdraw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from covey.geometry import Regions

__all__ = ["Steps"]

Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Steps:
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
    def concat(cls, parts: Sequence[Steps]) -> Steps:
        """What some steps come to, one after another.

        A number that one advertises and a later one withdraws, or the other way round, is in
        neither list: the link has it, or has it not, as before.
        """
        parts = [part for part in parts if part] or parts[:1]
        if len(parts) == 1:
            return parts[0]
        advertised = np.concatenate([part.advertised for part in parts])
        withdrawn = np.concatenate([part.withdrawn for part in parts])
        numbers, of = np.unique(np.concatenate([advertised, withdrawn]), return_inverse=True)
        signs = np.repeat([1, -1], [len(advertised), len(withdrawn)])
        change = np.bincount(of, signs, len(numbers))
        first = np.unique(advertised, return_index=True)[1]
        kept = first[np.isin(advertised[first], numbers[change > 0])]
        regions = Regions.concat([part.regions for part in parts]).take(kept)
        return cls(regions, advertised[kept], numbers[change < 0])
