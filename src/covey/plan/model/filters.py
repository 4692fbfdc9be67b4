"""The filters of all brokers: of each, a few rectangles of event space."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["BrokerFilters"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class BrokerFilters:
    """Rectangle k of broker i is from `lower[i, k]` to `upper[i, k]`, for k below `counts[i]`."""

    lower: Floats
    upper: Floats
    rectangle_counts: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.rectangle_counts)

    def rectangles_of(self, broker: int) -> tuple[Floats, Floats]:
        """The rectangles of one broker: lower and upper ends."""
        count = self.rectangle_counts[broker]
        return self.lower[broker, :count], self.upper[broker, :count]

    @property
    def all_rectangles(self) -> tuple[Floats, Floats]:
        """All rectangles of all brokers: lower and upper ends."""
        is_there = np.arange(self.lower.shape[1]) < self.rectangle_counts[:, None]
        return self.lower[is_there], self.upper[is_there]

    def compute_bandwidth(self, event_sample: Floats | None = None) -> Floats:
        """What comes to each broker: the share of some events, or else the volume of its filter."""
        return np.array(
            [
                _measure_union(*self.rectangles_of(broker), event_sample)
                for broker in range(len(self))
            ]
        )

    def covers(self, broker: int, lower: Floats, upper: Floats) -> NDArray[np.bool_]:
        """Whether the union of a broker's rectangles contains each of some boxes, exactly."""
        low, high = self.rectangles_of(broker)
        found = np.zeros(len(lower), np.bool_)
        for one in range(len(low)):
            found |= (low[one] <= lower).all(axis=1) & (high[one] >= upper).all(axis=1)
        if len(low) > 1:
            for row in np.flatnonzero(
                ~found & _has_enough_volume(low, high, lower, upper)
            ).tolist():
                found[row] = _is_covered(low, high, lower[row], upper[row])
        return found


def _rasterize_boxes(low: Floats, high: Floats) -> tuple[list[Floats], NDArray[np.bool_]]:
    """Where the ends of boxes cut each axis, and which cells between are in one of them."""
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
    """Whether boxes have in common with some, added up, what is each one's volume."""
    common = np.zeros(len(lower))
    for one in range(len(low)):
        sides = np.minimum(high[one], upper) - np.maximum(low[one], lower)
        common += np.maximum(0.0, sides).prod(axis=1)
    enough: NDArray[np.bool_] = common >= (upper - lower).prod(axis=1) * (1 - 1e-9)
    return enough


def _is_covered(low: Floats, high: Floats, lower: Floats, upper: Floats) -> bool:
    """Whether a union of boxes contains a box that none of them does."""
    is_flat = lower == upper
    if is_flat.any():  # what has no length on an axis is covered by what is there, on the others
        there = ((low <= lower) & (high >= upper))[:, is_flat].all(axis=1)
        low, high, lower, upper = (
            ends[..., ~is_flat] for ends in (low[there], high[there], lower, upper)
        )
        if is_flat.all():
            return bool(there.any())
    clipped_low, clipped_high = np.maximum(low, lower), np.minimum(high, upper)
    meets = (clipped_low < clipped_high).all(axis=1)
    if not meets.any():
        return False
    axes, is_in = _rasterize_boxes(clipped_low[meets], clipped_high[meets])
    reaches = all(
        axis[0] == a and axis[-1] == b for axis, a, b in zip(axes, lower, upper, strict=True)
    )
    return reaches and bool(is_in.all())
