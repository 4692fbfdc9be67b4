"""Upper bound of the value of a filter: the values of its boxes, less its volume.

A leaf earns the value of each box that its filter contains, and pays the filter's volume. Filters
are unions of a few rectangles. All minimal bounding rectangles of subsets of boxes are enumerated.
Among the filters in which every covered box lies within a single rectangle, the best one consists
of such bounding rectangles.

If rectangles jointly cover a box that none of them contains, at least two of them intersect it. (At
most three rectangles cover the four corners of the box, so that one of them contains a side of it.)
Each of these two rectangles contains the box after it is widened on every side by the width of the
widest box. Filters in which two rectangles contain a common box are therefore considered a second
time, with every side of every rectangle moved inward by this width. The smaller volumes can only
make the bound larger.
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
    """Upper bound of the value of any filter, from rectangles with volumes below a limit.

    Larger rectangles need not be stored: a filter that has one earns at most the sum of all values,
    less the limit.

    Args:
        rectangles: the minimal bounding rectangles.
        shrunk_rectangles: the same rectangles, with every side moved inward by the width of the
            widest box.
        size_limit: the volume from which rectangles are left out; infinite if none is left out.
    """

    rectangles: EnclosingRectangles
    shrunk_rectangles: EnclosingRectangles
    size_limit: float

    @classmethod
    def from_boxes(
        cls, lower: Floats, upper: Floats, max_size: float, max_candidates: int
    ) -> FilterValueBound:
        """Return the bound for filters of limited volume.

        Args:
            lower: lower ends of at most 63 boxes.
            upper: upper ends of the boxes.
            max_size: the largest volume of a filter.
            max_candidates: the largest number of rectangles to keep; the smallest are kept.
        """
        full_size, shrunk = (
            EnclosingRectangles.from_boxes(lower, upper, max_size, shrink_widths)
            for shrink_widths in (0.0, 1.0)
        )
        if len(shrunk.sizes) <= max_candidates:
            return cls(full_size, shrunk, np.inf)
        size_limit = float(np.partition(shrunk.sizes, max_candidates)[max_candidates])
        return cls(
            full_size.select_smaller(size_limit), shrunk.select_smaller(size_limit), size_limit
        )

    def find_best(self, values: Floats, max_rectangles: int) -> tuple[float, int]:
        """Return an upper bound of what a filter can earn, and the boxes for which it is reached.

        The boxes are returned as a mask: bit i is set if box i is among them, and -1 means all
        boxes. If no filter earns more than 0, the result is (0.0, 0).

        Args:
            values: the value of each box.
            max_rectangles: the largest number of rectangles of a filter, at most 3.
        """
        best, mask = 0.0, 0
        for r, is_shared in ((self.rectangles, False), (self.shrunk_rectangles, True)):
            chosen = np.full(3, -1, np.int64)
            earned = find_best_rectangles(
                values, r.masks, r.lower, r.upper, r.sizes, max_rectangles, is_shared, best, chosen
            )
            if earned > best:
                best = earned
                mask = int(np.bitwise_or.reduce(r.masks[chosen[chosen >= 0]]))
        with_large_rectangle = float(values.sum()) - self.size_limit
        return (with_large_rectangle, -1) if with_large_rectangle > best else (best, mask)


@dataclass(frozen=True, slots=True)
class EnclosingRectangles:
    """Minimal bounding rectangles of subsets of boxes, with their contents and volumes.

    Bit i of `masks[r]` says that rectangle r contains box i.
    """

    masks: Ints
    lower: Floats
    upper: Floats
    sizes: Floats

    @classmethod
    def from_boxes(
        cls, lower: Floats, upper: Floats, max_size: float, shrink_widths: float
    ) -> EnclosingRectangles:
        """Return all rectangles whose volume after shrinking is at most `max_size`.

        To shrink a rectangle, every side is moved inward by `shrink_widths` times the width of the
        widest box, but not beyond the middle.
        """
        masks = _enumerate_masks(lower, upper)
        low = np.full((len(masks), lower.shape[1]), np.inf)
        high = -low
        for row in range(len(lower)):
            contains = (masks >> row & 1).astype(np.bool_)
            low[contains] = np.minimum(low[contains], lower[row])
            high[contains] = np.maximum(high[contains], upper[row])
        margin, middle = shrink_widths * (upper - lower).max(axis=0), (low + high) / 2
        low, high = np.minimum(low + margin, middle), np.maximum(high - margin, middle)
        sizes = (high - low).prod(axis=1)
        is_small = sizes <= max_size
        return cls(masks[is_small], low[is_small], high[is_small], sizes[is_small])

    def select_smaller(self, size_limit: float) -> EnclosingRectangles:
        """Return the rectangles with a volume below `size_limit`."""
        is_smaller = self.sizes < size_limit
        return EnclosingRectangles(
            self.masks[is_smaller],
            self.lower[is_smaller],
            self.upper[is_smaller],
            self.sizes[is_smaller],
        )


def _enumerate_masks(lower: Floats, upper: Floats) -> Ints:
    """Return for each minimal bounding rectangle of some boxes the mask of the boxes within it."""
    bits = np.int64(1) << np.arange(len(lower))
    masks = np.array([-1], np.int64)
    for k in range(lower.shape[1]):
        starts, ends = np.unique(lower[:, k]), np.unique(upper[:, k])
        is_in = starts[:, None, None] <= lower[:, k]
        is_in = is_in & (ends[None, :, None] >= upper[:, k])
        on_axis = np.unique((is_in * bits).sum(axis=2))
        masks = np.unique(masks[:, None] & on_axis[None])
    nonempty: Ints = masks[masks != 0]
    return nonempty
