"""Rectangles of which filters may consist: products of a few intervals. (papers: assignment)"""

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

_INTERVAL_LENGTHS = 16  # lengths of intervals
_MAX_OVERLAP = 0.5  # of their length, that intervals of one length have in common at most
_CHUNK_COMPARISONS = 1 << 22  # comparisons of rectangles with subscriptions


def build_candidates(
    subscribers: Subscribers, cluster_count: int, random: np.random.Generator
) -> tuple[Floats, Floats]:
    """Candidates from so many clusters of subscribers that are near in network and event space.

    On each axis there are intervals of lengths that double; each product of them is shrunk to what
    it contains, and kept once.
    """
    points = np.hstack([subscribers.positions, subscribers.lower, subscribers.upper])
    low, high = enclose_clusters(subscribers, cluster_points(points, cluster_count, random))
    ends = [build_intervals(low[:, k], high[:, k]) for k in range(low.shape[1])]
    index = np.stack(np.meshgrid(*(np.arange(len(e)) for e in ends), indexing="ij"), -1)
    index = index.reshape(-1, len(ends))
    found = [
        _shrink_to_contents(subscribers, ends, some)
        for some in np.array_split(index, 1 + len(index) * len(subscribers) // _CHUNK_COMPARISONS)
    ]
    kept = np.unique(np.concatenate(found), axis=0)
    d = low.shape[1]
    return kept[:, :d], kept[:, d:]


def find_containing(subscribers: Subscribers, low: Floats, high: Floats) -> NDArray[np.bool_]:
    """Which rectangles contain what each subscriber wants: a row for each rectangle."""
    is_in = np.ones((len(low), len(subscribers)), np.bool_)
    for k in range(low.shape[1]):
        is_in &= low[:, k, None] <= subscribers.lower[:, k]
        is_in &= high[:, k, None] >= subscribers.upper[:, k]
    return is_in


def cluster_points(points: Floats, cluster_count: int, random: np.random.Generator) -> Ints:
    """The cluster of each point: k-means with every coordinate as spread as the others."""
    try:
        from scipy.cluster.vq import kmeans2
    except ImportError as missing:
        raise CoveyError("clusters need scipy: pip install 'covey[plan]'") from missing
    spread = points.std(axis=0)
    alike = (points - points.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    distinct = np.unique(alike, axis=0)
    if len(distinct) <= cluster_count:
        _, own = np.unique(alike, axis=0, return_inverse=True)
        return own.ravel().astype(np.int64)
    start = distinct[random.choice(len(distinct), cluster_count, replace=False)]
    _, of = kmeans2(alike, start, minit="matrix", missing="warn")
    found: Ints = of.astype(np.int64)
    return found


def enclose_clusters(subscribers: Subscribers, cluster_of: Ints) -> tuple[Floats, Floats]:
    """The least box round what each cluster wants."""
    used, of = np.unique(cluster_of, return_inverse=True)
    low = np.full((len(used), subscribers.lower.shape[1]), np.inf)
    high = -low
    np.minimum.at(low, of, subscribers.lower)
    np.maximum.at(high, of, subscribers.upper)
    return low, high


def build_intervals(low: Floats, high: Floats) -> Floats:
    """Intervals of a few lengths, so that every given one is in one not much longer.

    >>> build_intervals(np.array([0.0, 1.0, 8.0]), np.array([1.0, 2.0, 9.0])).tolist()
    [[0.0, 2.0], [0.0, 9.0], [8.0, 9.0]]
    """
    lengths = high - low
    whole = high.max() - low.min()
    least = lengths[lengths > 0].min(initial=whole)
    found = [(low.min(), high.max())]
    steps = min(_INTERVAL_LENGTHS, 1 + int(np.ceil(np.log2(max(1.0, whole / max(least, 1e-300))))))
    for length in whole * 2.0 ** -np.arange(-1, steps):  # to twice the whole: none lacks one
        is_short = lengths <= length / 2
        found += _place_intervals(low[is_short], high[is_short], length)
    return np.unique(np.array(found), axis=0)


def _place_intervals(low: Floats, high: Floats, length: float) -> list[tuple[float, float]]:
    found, begins = [], np.unique(low)
    while len(begins):
        begin = begins[0]
        begins = begins[begins > begin + (1 - _MAX_OVERLAP) * length]
        is_in = (low >= begin) & (high <= begin + length)
        found.append((float(begin), float(high[is_in].max())))
    return found


def _shrink_to_contents(
    subscribers: Subscribers, intervals_by_axis: list[Floats], interval_rows: Ints
) -> Floats:
    """The least boxes round what is within products of intervals, without those that have none."""
    d = len(intervals_by_axis)
    chosen = np.stack([intervals_by_axis[k][interval_rows[:, k]] for k in range(d)], axis=1)
    is_in = find_containing(subscribers, chosen[:, :, 0], chosen[:, :, 1])
    has_some = is_in.any(axis=1)
    is_in = is_in[has_some]
    low = [np.where(is_in, subscribers.lower[:, k], np.inf).min(axis=1) for k in range(d)]
    high = [np.where(is_in, subscribers.upper[:, k], -np.inf).max(axis=1) for k in range(d)]
    return np.stack([*low, *high], axis=1)
