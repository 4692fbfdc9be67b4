"""Grid of event space: boxes as ranges of cells, and the bandwidth measure of a box of cells.

The ends of all boxes are the boundaries of cells on each axis. Rectangles of filters are bounding
boxes of such boxes, so that the ends of filters are boundaries as well, and containment is exact.
If an axis has more than `max_boundaries` ends, only some of them become boundaries. Boxes are then
widened to these boundaries, or narrowed if a lower bound of the bandwidth is computed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from covey.plan.kernels.box_unions import BandwidthMeasure

__all__ = ["Boxes", "EventGrid", "Floats"]

Floats = NDArray[np.float64]
Boxes = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class EventGrid:
    """Boundaries of cells on each axis, ascending.

    A box of cells is a row of integers: for each axis the number of the boundary at which the box
    begins, then for each axis the number of the boundary at which it ends.

    Args:
        axes: the boundaries of each axis, in coordinates of event space.
        is_exact: True if all ends of the boxes that the grid was built from are boundaries.

    >>> lower, upper = np.array([[0.0], [2.0]]), np.array([[2.0], [5.0]])
    >>> cells = EventGrid.from_boxes(lower, upper)
    >>> cells.to_cell_boxes(lower, upper).tolist(), [axis.tolist() for axis in cells.axes]
    ([[0, 1], [1, 2]], [[0.0, 2.0, 5.0]])
    """

    axes: tuple[Floats, ...]
    is_exact: bool = True

    @classmethod
    def from_boxes(cls, lower: Floats, upper: Floats, *, max_boundaries: int = 1024) -> EventGrid:
        """Return the grid with the ends of boxes as boundaries, at most `max_boundaries` per axis.

        If an axis has more distinct ends, boundaries are picked from them in about equal steps,
        including the first and the last. An axis with a single end gets the next larger number as
        its second boundary.
        """
        axes, is_exact = [], True
        for k in range(lower.shape[1]):
            ends = np.unique(np.concatenate([lower[:, k], upper[:, k]]))
            if len(ends) > max_boundaries:
                is_exact = False
                ends = ends[
                    np.unique(
                        np.linspace(0, len(ends) - 1, max_boundaries).round().astype(np.int64)
                    )
                ]
            axes.append(ends if len(ends) > 1 else np.r_[ends, np.nextafter(ends, np.inf)])
        return cls(tuple(axes), is_exact)

    def to_cell_boxes(self, lower: Floats, upper: Floats) -> Boxes:
        """Return the smallest boxes of cells that contain these boxes.

        The boxes must lie between the first and the last boundary of each axis.
        """
        columns = [
            np.searchsorted(axis, lower[:, k], side="right") - 1 for k, axis in enumerate(self.axes)
        ]
        columns += [np.searchsorted(axis, upper[:, k]) for k, axis in enumerate(self.axes)]
        return np.stack(columns, axis=1).astype(np.int32)

    def to_inner_cell_boxes(self, lower: Floats, upper: Floats) -> Boxes:
        """Return for each box the largest box of cells within it.

        On an axis on which no cell fits, the returned box has length zero.
        """
        first = [np.searchsorted(axis, lower[:, k]) for k, axis in enumerate(self.axes)]
        last = [
            np.searchsorted(axis, upper[:, k], side="right") - 1 for k, axis in enumerate(self.axes)
        ]
        ends = [np.maximum(a, b) for a, b in zip(first, last, strict=True)]
        return np.stack([*first, *ends], axis=1).astype(np.int32)

    def to_coordinates(self, boxes: Boxes) -> tuple[Floats, Floats]:
        """Return the lower and the upper ends of boxes of cells, in coordinates of event space."""
        d = len(self.axes)
        lower = np.stack([axis[boxes[..., k]] for k, axis in enumerate(self.axes)], axis=-1)
        upper = np.stack([axis[boxes[..., d + k]] for k, axis in enumerate(self.axes)], axis=-1)
        return lower, upper

    @property
    def padded_axes(self) -> Floats:
        """Boundaries of all axes as rows of equal length, padded with the last boundary."""
        longest = max(map(len, self.axes))
        return np.stack([np.pad(axis, (0, longest - len(axis)), mode="edge") for axis in self.axes])

    def build_count_measure(self, event_sample: Floats) -> BandwidthMeasure:
        """Return the measure that gives for a box of cells the share of sampled events in it."""
        slots, is_inside = [], np.ones(len(event_sample), np.bool_)
        for k, axis in enumerate(self.axes):
            boundaries_up_to = np.searchsorted(axis, event_sample[:, k], side="right")
            on_boundary = (boundaries_up_to > 0) & (
                axis[np.maximum(boundaries_up_to, 1) - 1] == event_sample[:, k]
            )
            # Slot 2i is on boundary i, slot 2i + 1 between the boundaries i and i + 1.
            slots.append(2 * boundaries_up_to - 1 - on_boundary)
            is_inside &= (boundaries_up_to > 0) & (event_sample[:, k] <= axis[-1])
        shape = tuple(2 * len(axis) for axis in self.axes)
        table = np.zeros(shape)
        np.add.at(
            table, tuple(1 + slot[is_inside] for slot in slots), 1.0 / max(1, len(event_sample))
        )
        for k in range(len(shape)):
            table = np.cumsum(table, axis=k)
        strides = np.cumprod([1, *shape[:0:-1]])[::-1].astype(np.int64)
        return BandwidthMeasure(self.padded_axes, table.ravel(), strides)

    @property
    def volume_measure(self) -> BandwidthMeasure:
        """Measure that gives for a box of cells its volume, as if events were uniform."""
        return BandwidthMeasure(self.padded_axes, np.empty(0), np.empty(0, np.int64))
