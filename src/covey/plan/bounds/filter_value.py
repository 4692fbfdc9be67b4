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

from covey.plan.kernels.best_rectangles import find_best_rectangles

__all__ = ["FilterValueBound"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class FilterValueBound:
    """All rectangles that filters can be of, but for those that are at least `large`.

    With one of these a filter earns at most all values, less that.
    """

    rectangles: EnclosingRectangles
    shrunk_rectangles: EnclosingRectangles
    size_limit: float

    @classmethod
    def from_boxes(
        cls, lower: Floats, upper: Floats, max_size: float, max_candidates: int
    ) -> FilterValueBound:
        """For at most 63 boxes, and filters of at most some volume: of so many rectangles."""
        whole, smaller = (
            EnclosingRectangles.from_boxes(lower, upper, max_size, less) for less in (0.0, 1.0)
        )
        if len(smaller.sizes) <= max_candidates:
            return cls(whole, smaller, np.inf)
        large = float(np.partition(smaller.sizes, max_candidates)[max_candidates])
        return cls(whole.select_smaller(large), smaller.select_smaller(large), large)

    def find_best(self, values: Floats, max_rectangles: int) -> tuple[float, int]:
        """The most that a leaf can earn, and by which boxes, a bit for each."""
        best, mask = 0.0, 0
        for r, is_shared in ((self.rectangles, False), (self.shrunk_rectangles, True)):
            chosen = np.full(3, -1, np.int64)
            earned = find_best_rectangles(
                values, r.masks, r.lower, r.upper, r.sizes, max_rectangles, is_shared, best, chosen
            )
            if earned > best:
                best = earned
                mask = int(np.bitwise_or.reduce(r.masks[chosen[chosen >= 0]]))
        everything = float(values.sum()) - self.size_limit
        return (everything, -1) if everything > best else (best, mask)


@dataclass(frozen=True, slots=True)
class EnclosingRectangles:
    """Those round some boxes, and which boxes are in each: a bit for every one."""

    masks: Ints
    lower: Floats
    upper: Floats
    sizes: Floats

    @classmethod
    def from_boxes(
        cls, lower: Floats, upper: Floats, max_size: float, shrink_widths: float
    ) -> EnclosingRectangles:
        """All of at most some volume, smaller by so many widest boxes on every side."""
        masks = _enumerate_masks(lower, upper)
        low = np.full((len(masks), lower.shape[1]), np.inf)
        high = -low
        for row in range(len(lower)):
            has = (masks >> row & 1).astype(np.bool_)
            low[has] = np.minimum(low[has], lower[row])
            high[has] = np.maximum(high[has], upper[row])
        by, middle = shrink_widths * (upper - lower).max(axis=0), (low + high) / 2
        low, high = np.minimum(low + by, middle), np.maximum(high - by, middle)
        sizes = (high - low).prod(axis=1)
        kept = sizes <= max_size
        return cls(masks[kept], low[kept], high[kept], sizes[kept])

    def select_smaller(self, size_limit: float) -> EnclosingRectangles:
        """Those of a smaller volume."""
        kept = self.sizes < size_limit
        return EnclosingRectangles(
            self.masks[kept], self.lower[kept], self.upper[kept], self.sizes[kept]
        )


def _enumerate_masks(lower: Floats, upper: Floats) -> Ints:
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
