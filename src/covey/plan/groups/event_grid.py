"""Event space in cells: boxes become whole numbers, and what bandwidth each has is looked up.

Ends of all boxes cut each axis. Filters are unions of boxes that enclose boxes, so their ends are
among these, and whether one contains another is exact. With more than `most` ends on an axis boxes
are widened to some of them, or for bounds narrowed.
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
    """Cuts of each axis, ascending. A box is a row of its first cells and those after its last.

    >>> lower, upper = np.array([[0.0], [2.0]]), np.array([[2.0], [5.0]])
    >>> cells = EventGrid.from_boxes(lower, upper)
    >>> cells.to_cell_boxes(lower, upper).tolist(), [axis.tolist() for axis in cells.axes]
    ([[0, 1], [1, 2]], [[0.0, 2.0, 5.0]])
    """

    axes: tuple[Floats, ...]
    is_exact: bool = True

    @classmethod
    def from_boxes(cls, lower: Floats, upper: Floats, *, max_boundaries: int = 1024) -> EventGrid:
        """The ends of boxes, or so many of them on an axis."""
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
        """Boxes of cells that contain these, which lie between the first and the last cuts."""
        found = [
            np.searchsorted(axis, lower[:, k], side="right") - 1 for k, axis in enumerate(self.axes)
        ]
        found += [np.searchsorted(axis, upper[:, k]) for k, axis in enumerate(self.axes)]
        return np.stack(found, axis=1).astype(np.int32)

    def to_inner_cell_boxes(self, lower: Floats, upper: Floats) -> Boxes:
        """Boxes of cells that are within these; without a cell if there is none."""
        first = [np.searchsorted(axis, lower[:, k]) for k, axis in enumerate(self.axes)]
        last = [
            np.searchsorted(axis, upper[:, k], side="right") - 1 for k, axis in enumerate(self.axes)
        ]
        ends = [np.maximum(a, b) for a, b in zip(first, last, strict=True)]
        return np.stack([*first, *ends], axis=1).astype(np.int32)

    def to_coordinates(self, boxes: Boxes) -> tuple[Floats, Floats]:
        """Lower and upper ends of boxes of cells."""
        d = len(self.axes)
        lower = np.stack([axis[boxes[..., k]] for k, axis in enumerate(self.axes)], axis=-1)
        upper = np.stack([axis[boxes[..., d + k]] for k, axis in enumerate(self.axes)], axis=-1)
        return lower, upper

    @property
    def padded_axes(self) -> Floats:
        """The cuts as rows of one array, each as long as the longest."""
        longest = max(map(len, self.axes))
        return np.stack([np.pad(axis, (0, longest - len(axis)), mode="edge") for axis in self.axes])

    def build_count_measure(self, event_sample: Floats) -> BandwidthMeasure:
        """The measure that counts some events, each as its share of all."""
        slots, inside = [], np.ones(len(event_sample), np.bool_)
        for k, axis in enumerate(self.axes):
            after = np.searchsorted(axis, event_sample[:, k], side="right")
            on_cut = (after > 0) & (axis[np.maximum(after, 1) - 1] == event_sample[:, k])
            slots.append(2 * after - 1 - on_cut)  # 2i is on cut i, 2i + 1 beyond it
            inside &= (after > 0) & (event_sample[:, k] <= axis[-1])
        shape = tuple(2 * len(axis) for axis in self.axes)
        table = np.zeros(shape)
        np.add.at(table, tuple(1 + slot[inside] for slot in slots), 1.0 / max(1, len(event_sample)))
        for k in range(len(shape)):
            table = np.cumsum(table, axis=k)
        strides = np.cumprod([1, *shape[:0:-1]])[::-1].astype(np.int64)
        return BandwidthMeasure(self.padded_axes, table.ravel(), strides)

    @property
    def volume_measure(self) -> BandwidthMeasure:
        """The measure of uniform events: volume."""
        return BandwidthMeasure(self.padded_axes, np.empty(0), np.empty(0, np.int64))
