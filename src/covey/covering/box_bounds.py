"""Bounds of boxes in normalised coordinates: every attribute is measured from 0 to 1.

Attributes are treated as independent. Of the length 1 of an attribute, one eighth is divided evenly
among all codes, so that points, null and open ends have a size as well. Without a sample of events,
the other seven eighths are proportional to the real distances between ends; for texts, all
neighbouring ends are equally far apart. With a sample, they are proportional to the share of
sampled events at each code. Events at ends and events between ends are smoothed separately.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covey.covering.axes import Axis
from covey.covering.region_boxes import RegionBoxes
from covey.space.keys import decode_floats

__all__ = ["compute_box_bounds", "compute_code_edges"]

Codes = NDArray[np.int32]
Floats = NDArray[np.float64]
_EVEN_SHARE = 1 / 8
_MIN_RUN_EVENTS = 16


def compute_box_bounds(boxes: RegionBoxes, sample_points: Codes | None = None) -> Floats:
    """Return the bounds of each box, one row per box: axis k has the columns 2k and 2k + 1.

    Column 2k contains the lower bound, column 2k + 1 the upper one, both from 0 to 1.
    Each row of `sample_points` contains the codes of a sampled event; None without a sample.
    """
    bounds = np.empty((len(boxes), 2 * len(boxes.axes)))
    for k, axis in enumerate(boxes.axes):
        edges = compute_code_edges(axis, None if sample_points is None else sample_points[:, k])
        bounds[:, 2 * k] = edges[boxes.lower[:, k] + 1]
        bounds[:, 2 * k + 1] = edges[boxes.upper[:, k] + 2]
    return bounds


def compute_code_edges(axis: Axis, sample_codes: Codes | None = None) -> Floats:
    """Return the coordinate at which each code begins, and finally 1, at which the last code ends.

    The first code is null. `sample_codes` contains the code of each sampled event on this axis;
    None without a sample.

    >>> from covey.geometry.scalars import Scalars
    >>> from covey.space.keys import key_domain
    >>> from covey.space.types import INT
    >>> batch = Scalars.from_intervals(key_domain(INT), np.array([0, 5]), np.array([2, 10]))
    >>> axis = Axis.from_constraints("x", INT, batch)
    >>> lengths = np.diff(compute_code_edges(axis))
    >>> lengths[axis.codes[1] + 1 : axis.codes[4] + 1].round(2).tolist()  # 0, 1, 2, 3 and 4, …
    [0.01, 0.19, 0.01, 0.27, 0.01, 0.45]
    """
    lengths = np.zeros(axis.max_code + 2)
    is_gap = np.diff(axis.codes) == 2
    lengths[axis.codes[:-1] + 1 + is_gap] = np.diff(_end_positions(axis))
    evenly = np.full(axis.max_code + 2, 1 / (axis.max_code + 2))
    lengths = _EVEN_SHARE * evenly + (1 - _EVEN_SHARE) * lengths
    if sample_codes is not None and len(sample_codes):
        count = np.bincount(sample_codes + 1, minlength=len(lengths))
        is_end = np.zeros(len(lengths), np.bool_)
        is_end[axis.codes + 1] = True
        for code_class in (is_end, ~is_end):  # texts are often only at ends, floats never
            lengths[code_class] = _spread_events(lengths[code_class], count[code_class])
        lengths = _EVEN_SHARE * evenly + (1 - _EVEN_SHARE) * lengths / len(sample_codes)
    edges: Floats = np.append(0.0, np.cumsum(lengths))
    return np.asarray(edges / edges[-1])


def _end_positions(axis: Axis) -> Floats:
    """Return the coordinate of each end, from 0 to 1, by the real distances between ends.

    The lowest and the highest value of the type have the coordinates of the ends next to them.
    Texts have no distances: all neighbouring ends are equally far apart. The same holds if there
    are fewer than four ends.
    """
    if axis.keys.dtype == object or len(axis.keys) < 4:
        return np.linspace(0.0, 1.0, len(axis.keys))
    inner = axis.keys[1:-1].astype(np.float64)
    if axis.type_.is_fractional:
        inner = decode_floats(axis.keys[1:-1], axis.type_).astype(np.float64)
        finite = inner[np.isfinite(inner)]
        low, high = (finite.min(), finite.max()) if len(finite) else (0.0, 0.0)
        inner = np.nan_to_num(inner, nan=high).clip(low, high)
    positions = inner / 4 - inner[0] / 4  # the range of a type may exceed the largest float
    if positions[-1] > 0:
        positions /= positions[-1]
    return np.concatenate([[0.0], positions, positions[-1:]])


def _spread_events(lengths: Floats, event_counts: NDArray[np.int64]) -> Floats:
    """Return the number of events of each code, smoothed over runs of neighbouring codes.

    A run has at least about `_MIN_RUN_EVENTS` events, which are distributed over its codes in
    proportion to their lengths. A code with at least this number of events is a run by itself.
    """
    events_before = np.cumsum(event_counts) - event_counts
    is_full = event_counts >= _MIN_RUN_EVENTS
    starts = np.diff(events_before // _MIN_RUN_EVENTS, prepend=-1) > 0
    starts |= is_full
    starts[1:] |= is_full[:-1]
    firsts = np.flatnonzero(starts)
    density = np.add.reduceat(event_counts, firsts) / np.add.reduceat(lengths, firsts)
    return np.asarray(lengths * np.repeat(density, np.diff(np.append(firsts, len(lengths)))))
