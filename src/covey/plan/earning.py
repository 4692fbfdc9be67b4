"""The most that a leaf can earn by any filter of a few rectangles, if boxes have values.

Filters are unions of least boxes round what they contain, of which all are gone through. Where two
rectangles cover a box together that neither contains, both meet it; so of filters of which two
rectangles have a box in common, all rectangles are taken as smaller, by the widest box on every
side: of three rectangles one has a side of every box, or they do not cover its four corners.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from covey.plan.kernels.best import best_few

__all__ = ["Earning"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Earning:
    """All rectangles that filters can be of, but for those that are at least `large`.

    With one of these a filter earns at most all values, less that.
    """

    whole: Rectangles
    smaller: Rectangles
    large: float

    @classmethod
    def of(cls, lower: Floats, upper: Floats, most: float, count: int) -> Earning:
        """For at most 63 boxes, and filters of at most some volume: of so many rectangles."""
        whole, smaller = (Rectangles.of(lower, upper, most, less) for less in (0.0, 1.0))
        if len(smaller.sizes) <= count:
            return cls(whole, smaller, np.inf)
        large = float(np.partition(smaller.sizes, count)[count])
        return cls(whole.below(large), smaller.below(large), large)

    def best(self, values: Floats, alpha: int) -> tuple[float, int]:
        """The most that a leaf can earn, and by which boxes, a bit for each."""
        best, mask = 0.0, 0
        for r, is_shared in ((self.whole, False), (self.smaller, True)):
            chosen = np.full(3, -1, np.int64)
            earned = best_few(
                values, r.masks, r.lower, r.upper, r.sizes, alpha, is_shared, best, chosen
            )
            if earned > best:
                best = earned
                mask = int(np.bitwise_or.reduce(r.masks[chosen[chosen >= 0]]))
        everything = float(values.sum()) - self.large
        return (everything, -1) if everything > best else (best, mask)


@dataclass(frozen=True, slots=True)
class Rectangles:
    """Those round some boxes, and which boxes are in each: a bit for every one."""

    masks: Ints
    lower: Floats
    upper: Floats
    sizes: Floats

    @classmethod
    def of(cls, lower: Floats, upper: Floats, most: float, less: float) -> Rectangles:
        """All of at most some volume, smaller by so many widest boxes on every side."""
        masks = _all_masks(lower, upper)
        low = np.full((len(masks), lower.shape[1]), np.inf)
        high = -low
        for row in range(len(lower)):
            has = (masks >> row & 1).astype(np.bool_)
            low[has] = np.minimum(low[has], lower[row])
            high[has] = np.maximum(high[has], upper[row])
        by, middle = less * (upper - lower).max(axis=0), (low + high) / 2
        low, high = np.minimum(low + by, middle), np.maximum(high - by, middle)
        sizes = (high - low).prod(axis=1)
        kept = sizes <= most
        return cls(masks[kept], low[kept], high[kept], sizes[kept])

    def below(self, size: float) -> Rectangles:
        """Those of a smaller volume."""
        kept = self.sizes < size
        return Rectangles(self.masks[kept], self.lower[kept], self.upper[kept], self.sizes[kept])


def _all_masks(lower: Floats, upper: Floats) -> Ints:
    """For each box that encloses some of a few, which ones it contains."""
    bits = np.int64(1) << np.arange(len(lower))
    masks = np.array([-1], np.int64)
    for k in range(lower.shape[1]):
        begins, ends = np.unique(lower[:, k]), np.unique(upper[:, k])
        is_in = begins[:, None, None] <= lower[:, k]
        is_in = is_in & (ends[None, :, None] >= upper[:, k])
        on_axis = np.unique((is_in * bits).sum(axis=2))
        masks = np.unique(masks[:, None] & on_axis[None])
    found: Ints = masks[masks != 0]
    return found
