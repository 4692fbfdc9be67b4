"""Candidate rectangles for filters: all combinations of one interval per axis.

(papers: assignment)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covey.errors import CoveyError
from covey.plan.model.problem import Subscribers

__all__ = [
    "build_candidates",
    "build_intervals",
    "cluster_points",
    "enclose_clusters",
    "find_containing",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_INTERVAL_LENGTHS = 16  # largest number of lengths, in addition to twice the whole length
_MAX_OVERLAP = 0.5  # largest overlap of intervals of one length, as a share of the length
_CHUNK_COMPARISONS = 1 << 22  # comparisons of rectangles with boxes at the same time


def build_candidates(
    subscribers: Subscribers, cluster_count: int, random: np.random.Generator
) -> tuple[Floats, Floats]:
    """Return lower and upper ends of candidate rectangles, from clusters of similar subscribers.

    Subscribers are clustered by position and box. On each axis, intervals are placed around the
    bounding boxes of the clusters. Each combination of one interval per axis is shrunk to the boxes
    of subscribers that it contains. Duplicates are removed.
    """
    points = np.hstack([subscribers.positions, subscribers.lower, subscribers.upper])
    low, high = enclose_clusters(subscribers, cluster_points(points, cluster_count, random))
    ends = [build_intervals(low[:, k], high[:, k]) for k in range(low.shape[1])]
    index = np.stack(np.meshgrid(*(np.arange(len(e)) for e in ends), indexing="ij"), -1)
    index = index.reshape(-1, len(ends))
    shrunk = [
        _shrink_to_contents(subscribers, ends, interval_rows)
        for interval_rows in np.array_split(
            index, 1 + len(index) * len(subscribers) // _CHUNK_COMPARISONS
        )
    ]
    candidates = np.unique(np.concatenate(shrunk), axis=0)
    d = low.shape[1]
    return candidates[:, :d], candidates[:, d:]


def find_containing(subscribers: Subscribers, low: Floats, high: Floats) -> NDArray[np.bool_]:
    """Return which rectangles (rows) contain the box of each subscriber (column)."""
    is_in = np.ones((len(low), len(subscribers)), np.bool_)
    for k in range(low.shape[1]):
        is_in &= low[:, k, None] <= subscribers.lower[:, k]
        is_in &= high[:, k, None] >= subscribers.upper[:, k]
    return is_in


def cluster_points(points: Floats, cluster_count: int, random: np.random.Generator) -> Ints:
    """Return the cluster number of each point, by k-means.

    Coordinates are first scaled to equal standard deviations. If there are no more than
    `cluster_count` distinct points, each is a cluster.

    Raises:
        CoveyError: if scipy is not installed.
    """
    try:
        from scipy.cluster.vq import kmeans2
    except ImportError as missing:
        raise CoveyError("clustering needs scipy: pip install 'covey[plan]'") from missing
    spread = points.std(axis=0)
    scaled = (points - points.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    distinct = np.unique(scaled, axis=0)
    if len(distinct) <= cluster_count:
        _, distinct_rows = np.unique(scaled, axis=0, return_inverse=True)
        return distinct_rows.ravel().astype(np.int64)
    start = distinct[random.choice(len(distinct), cluster_count, replace=False)]
    _, labels = kmeans2(scaled, start, minit="matrix", missing="warn")
    cluster_of: Ints = labels.astype(np.int64)
    return cluster_of


def enclose_clusters(subscribers: Subscribers, cluster_of: Ints) -> tuple[Floats, Floats]:
    """Return lower and upper ends of the bounding box of each cluster, by ascending number."""
    used, cluster_rows = np.unique(cluster_of, return_inverse=True)
    low = np.full((len(used), subscribers.lower.shape[1]), np.inf)
    high = -low
    np.minimum.at(low, cluster_rows, subscribers.lower)
    np.maximum.at(high, cluster_rows, subscribers.upper)
    return low, high


def build_intervals(low: Floats, high: Floats) -> Floats:
    """Return intervals of a few lengths, such that every input interval lies in one of them.

    Each length is half of the one before. An input interval lies in one that is at most four times
    as long, unless it has no length, or 16 lengths are too few for this. A row of the result has
    the start and the end of an interval.

    >>> build_intervals(np.array([0.0, 1.0, 8.0]), np.array([1.0, 2.0, 9.0])).tolist()
    [[0.0, 2.0], [0.0, 9.0], [8.0, 9.0]]
    """
    lengths = high - low
    total_length = high.max() - low.min()
    min_length = lengths[lengths > 0].min(initial=total_length)
    intervals = [(low.min(), high.max())]
    steps = min(
        _INTERVAL_LENGTHS,
        1 + int(np.ceil(np.log2(max(1.0, total_length / max(min_length, 1e-300))))),
    )
    for length in total_length * 2.0 ** -np.arange(-1, steps):  # from twice the total length on
        is_short = lengths <= length / 2
        intervals += _place_intervals(low[is_short], high[is_short], length)
    return np.unique(np.array(intervals), axis=0)


def _place_intervals(low: Floats, high: Floats, length: float) -> list[tuple[float, float]]:
    """Return intervals of one length, such that every input interval lies in one of them.

    Each interval is then shortened: it ends with the last input interval that it contains.
    """
    intervals, starts = [], np.unique(low)
    while len(starts):
        start = starts[0]
        starts = starts[starts > start + (1 - _MAX_OVERLAP) * length]
        is_in = (low >= start) & (high <= start + length)
        intervals.append((float(start), float(high[is_in].max())))
    return intervals


def _shrink_to_contents(
    subscribers: Subscribers, intervals_by_axis: list[Floats], interval_rows: Ints
) -> Floats:
    """Return products of intervals, shrunk to the boxes of subscribers that they contain.

    Each row of `interval_rows` contains the number of one interval for each axis. Products that
    contain no box are left out. A row of the result contains the lower, then the upper ends.
    """
    d = len(intervals_by_axis)
    chosen = np.stack([intervals_by_axis[k][interval_rows[:, k]] for k in range(d)], axis=1)
    is_in = find_containing(subscribers, chosen[:, :, 0], chosen[:, :, 1])
    is_nonempty = is_in.any(axis=1)
    is_in = is_in[is_nonempty]
    low = [np.where(is_in, subscribers.lower[:, k], np.inf).min(axis=1) for k in range(d)]
    high = [np.where(is_in, subscribers.upper[:, k], -np.inf).max(axis=1) for k in range(d)]
    return np.stack([*low, *high], axis=1)
