"""Filters of all brokers: a few rectangles of event space for each broker."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["BrokerFilters"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class BrokerFilters:
    """Rectangles of the filters of all brokers.

    Rectangle k of broker i reaches from `lower[i, k]` to `upper[i, k]`, both ends included, for
    every k below `rectangle_counts[i]`. Entries with larger k are padding.
    """

    lower: Floats
    upper: Floats
    rectangle_counts: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.rectangle_counts)

    def rectangles_of(self, broker: int) -> tuple[Floats, Floats]:
        """Return the lower and the upper ends of one broker's rectangles."""
        count = self.rectangle_counts[broker]
        return self.lower[broker, :count], self.upper[broker, :count]

    @property
    def all_rectangles(self) -> tuple[Floats, Floats]:
        """Lower and upper ends of the rectangles of all brokers, in the order of brokers."""
        is_there = np.arange(self.lower.shape[1]) < self.rectangle_counts[:, None]
        return self.lower[is_there], self.upper[is_there]

    def compute_bandwidth(self, event_sample: Floats | None = None) -> Floats:
        """Return the bandwidth of each broker.

        With a sample, bandwidth is the share of the sampled events that the broker's filter
        contains; without a sample, it is the exact volume of the filter.
        """
        return np.array(
            [
                _measure_union(*self.rectangles_of(broker), event_sample)
                for broker in range(len(self))
            ]
        )

    def covers(self, broker: int, lower: Floats, upper: Floats) -> NDArray[np.bool_]:
        """Return for each box whether the union of a broker's rectangles contains it.

        The results are exact.

        Args:
            broker: the number of the broker.
            lower: lower ends of the boxes, one row each.
            upper: upper ends of the boxes.
        """
        low, high = self.rectangles_of(broker)
        is_covered = np.zeros(len(lower), np.bool_)
        for rectangle in range(len(low)):
            is_covered |= (low[rectangle] <= lower).all(axis=1) & (high[rectangle] >= upper).all(
                axis=1
            )
        if len(low) > 1:
            for row in np.flatnonzero(
                ~is_covered & _has_enough_volume(low, high, lower, upper)
            ).tolist():
                is_covered[row] = _is_covered(low, high, lower[row], upper[row])
        return is_covered


def _rasterize_boxes(low: Floats, high: Floats) -> tuple[list[Floats], NDArray[np.bool_]]:
    """Return the distinct ends of boxes on each axis, and whether each cell is in a box.

    A cell lies between two neighbouring ends on every axis.
    """
    axes = [np.unique(np.concatenate([low[:, k], high[:, k]])) for k in range(low.shape[1])]
    is_in = np.zeros(tuple(len(axis) - 1 for axis in axes), np.bool_)
    for lower, upper in zip(low, high, strict=True):
        is_in[
            tuple(
                slice(int(np.searchsorted(axis, a)), int(np.searchsorted(axis, b)))
                for axis, a, b in zip(axes, lower, upper, strict=True)
            )
        ] = True
    return axes, is_in


def _measure_union(low: Floats, high: Floats, event_sample: Floats | None) -> float:
    """Return the volume of a union of boxes, or with a sample the share of events in the union."""
    if not len(low):
        return 0.0
    if event_sample is not None:
        is_in = np.zeros(len(event_sample), np.bool_)
        for lower, upper in zip(low, high, strict=True):
            is_in |= (event_sample >= lower).all(axis=1) & (event_sample <= upper).all(axis=1)
        return float(is_in.mean())
    axes, is_in = _rasterize_boxes(low, high)
    volume = is_in.astype(np.float64)
    for axis in reversed(axes):
        volume = volume @ np.diff(axis)
    return float(volume)


def _has_enough_volume(
    low: Floats, high: Floats, lower: Floats, upper: Floats
) -> NDArray[np.bool_]:
    """Return for each box whether the rectangles could have enough volume to contain it together.

    The volumes of the box's intersections with the rectangles must add up to at least the volume
    of the box, less a margin for rounding errors. Boxes for which this is False are not contained;
    the test is cheaper than the exact one. `low` and `high` are the ends of the rectangles, `lower`
    and `upper` those of the boxes.
    """
    common = np.zeros(len(lower))
    for rectangle in range(len(low)):
        sides = np.minimum(high[rectangle], upper) - np.maximum(low[rectangle], lower)
        common += np.maximum(0.0, sides).prod(axis=1)
    enough: NDArray[np.bool_] = common >= (upper - lower).prod(axis=1) * (1 - 1e-9)
    return enough


def _is_covered(low: Floats, high: Floats, lower: Floats, upper: Floats) -> bool:
    """Return whether the union of several boxes contains a single box.

    The caller has already found that no box of the union contains the single box alone. `low` and
    `high` are the ends of the boxes of the union, `lower` and `upper` those of the single box.
    """
    is_flat = lower == upper
    if is_flat.any():  # use the boxes that contain its position there, and compare other axes
        contains_position = ((low <= lower) & (high >= upper))[:, is_flat].all(axis=1)
        low, high, lower, upper = (
            ends[..., ~is_flat]
            for ends in (low[contains_position], high[contains_position], lower, upper)
        )
        if is_flat.all():
            return bool(contains_position.any())
    clipped_low, clipped_high = np.maximum(low, lower), np.minimum(high, upper)
    meets = (clipped_low < clipped_high).all(axis=1)
    if not meets.any():
        return False
    axes, is_in = _rasterize_boxes(clipped_low[meets], clipped_high[meets])
    reaches = all(
        axis[0] == a and axis[-1] == b for axis, a, b in zip(axes, lower, upper, strict=True)
    )
    return reaches and bool(is_in.all())
