"""How large boxes are: every attribute measured from 0 to 1, as if all were independent.

Most of an attribute's length is real length between its first and its last end (of texts: their
number), or with a sample as many of its events as there are, those at ends and those between them
each for themselves. An eighth is spread evenly over the
codes, so that points, null and open ends have a size too.
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
    """Where each box begins and ends: on axis k in columns 2k and 2k + 1.

    A sample of events is given as points of the boxes' codes.
    """
    ends = np.empty((len(boxes), 2 * len(boxes.axes)))
    for k, axis in enumerate(boxes.axes):
        where = compute_code_edges(axis, None if sample_points is None else sample_points[:, k])
        ends[:, 2 * k] = where[boxes.lower[:, k] + 1]
        ends[:, 2 * k + 1] = where[boxes.upper[:, k] + 2]
    return ends


def compute_code_edges(axis: Axis, sample_codes: Codes | None = None) -> Floats:
    """Where each code begins, null first, and where the last one ends.

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
        for some in (is_end, ~is_end):  # events may be at ends only, as texts, or never there
            lengths[some] = _spread_events(lengths[some], count[some])
        lengths = _EVEN_SHARE * evenly + (1 - _EVEN_SHARE) * lengths / len(sample_codes)
    where: Floats = np.append(0.0, np.cumsum(lengths))
    return np.asarray(where / where[-1])


def _end_positions(axis: Axis) -> Floats:
    """Where ends are, from 0 to 1; the type's own two are where the next ones are."""
    if axis.keys.dtype == object or len(axis.keys) < 4:
        return np.linspace(0.0, 1.0, len(axis.keys))
    inner = axis.keys[1:-1].astype(np.float64)
    if axis.type_.is_fractional:
        inner = decode_floats(axis.keys[1:-1], axis.type_).astype(np.float64)
        finite = inner[np.isfinite(inner)]
        low, high = (finite.min(), finite.max()) if len(finite) else (0.0, 0.0)
        inner = np.nan_to_num(inner, nan=high).clip(low, high)
    places = inner / 4 - inner[0] / 4  # the whole range of a type may be more than a float is
    if places[-1] > 0:
        places /= places[-1]
    return np.concatenate([[0.0], places, places[-1:]])


def _spread_events(lengths: Floats, event_counts: NDArray[np.int64]) -> Floats:
    """Events spread over codes: over runs of codes that have enough of them, by their lengths.

    A code that has enough alone is a run.
    """
    before = np.cumsum(event_counts) - event_counts
    is_full = event_counts >= _MIN_RUN_EVENTS
    starts = np.diff(before // _MIN_RUN_EVENTS, prepend=-1) > 0
    starts |= is_full
    starts[1:] |= is_full[:-1]
    firsts = np.flatnonzero(starts)
    each = np.add.reduceat(event_counts, firsts) / np.add.reduceat(lengths, firsts)
    return np.asarray(lengths * np.repeat(each, np.diff(np.append(firsts, len(lengths)))))
