"""Rectangles of which filters may consist: products of a few intervals. (papers: assignment)"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covey.errors import CoveyError
from covey.plan.problem import Subscribers

__all__ = ["clusters", "containing", "enclosing", "intervals", "rectangles"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_LEVELS = 16  # lengths of intervals
_OVERLAP = 0.5  # of their length, that intervals of one length have in common at most
_AT_ONCE = 1 << 22  # comparisons of rectangles with subscriptions


def rectangles(
    wanted: Subscribers, count: int, random: np.random.Generator
) -> tuple[Floats, Floats]:
    """Candidates from so many clusters of subscribers that are near in network and event space.

    On each axis there are intervals of lengths that double; each product of them is shrunk to what
    it contains, and kept once.
    """
    points = np.hstack([wanted.positions, wanted.lower, wanted.upper])
    low, high = enclosing(wanted, clusters(points, count, random))
    ends = [intervals(low[:, k], high[:, k]) for k in range(low.shape[1])]
    index = np.stack(np.meshgrid(*(np.arange(len(e)) for e in ends), indexing="ij"), -1)
    index = index.reshape(-1, len(ends))
    found = [
        _shrunk(wanted, ends, some)
        for some in np.array_split(index, 1 + len(index) * len(wanted) // _AT_ONCE)
    ]
    kept = np.unique(np.concatenate(found), axis=0)
    d = low.shape[1]
    return kept[:, :d], kept[:, d:]


def containing(wanted: Subscribers, low: Floats, high: Floats) -> NDArray[np.bool_]:
    """Which rectangles contain what each subscriber wants: a row for each rectangle."""
    is_in = np.ones((len(low), len(wanted)), np.bool_)
    for k in range(low.shape[1]):
        is_in &= low[:, k, None] <= wanted.lower[:, k]
        is_in &= high[:, k, None] >= wanted.upper[:, k]
    return is_in


def clusters(points: Floats, count: int, random: np.random.Generator) -> Ints:
    """The cluster of each point: k-means with every coordinate as spread as the others."""
    try:
        from scipy.cluster.vq import kmeans2
    except ImportError as missing:
        raise CoveyError("clusters need scipy: pip install 'covey[plan]'") from missing
    spread = points.std(axis=0)
    alike = (points - points.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    distinct = np.unique(alike, axis=0)
    if len(distinct) <= count:
        _, own = np.unique(alike, axis=0, return_inverse=True)
        return own.ravel().astype(np.int64)
    start = distinct[random.choice(len(distinct), count, replace=False)]
    _, of = kmeans2(alike, start, minit="matrix", missing="warn")
    found: Ints = of.astype(np.int64)
    return found


def enclosing(wanted: Subscribers, cluster_of: Ints) -> tuple[Floats, Floats]:
    """The least box round what each cluster wants."""
    used, of = np.unique(cluster_of, return_inverse=True)
    low = np.full((len(used), wanted.lower.shape[1]), np.inf)
    high = -low
    np.minimum.at(low, of, wanted.lower)
    np.maximum.at(high, of, wanted.upper)
    return low, high


def intervals(low: Floats, high: Floats) -> Floats:
    """Intervals of a few lengths, so that every given one is in one not much longer.

    >>> intervals(np.array([0.0, 1.0, 8.0]), np.array([1.0, 2.0, 9.0])).tolist()
    [[0.0, 2.0], [0.0, 9.0], [8.0, 9.0]]
    """
    lengths = high - low
    whole = high.max() - low.min()
    least = lengths[lengths > 0].min(initial=whole)
    found = [(low.min(), high.max())]
    steps = min(_LEVELS, 1 + int(np.ceil(np.log2(max(1.0, whole / max(least, 1e-300))))))
    for length in whole * 2.0 ** -np.arange(-1, steps):  # to twice the whole: none lacks one
        is_short = lengths <= length / 2
        found += _of_length(low[is_short], high[is_short], length)
    return np.unique(np.array(found), axis=0)


def _of_length(low: Floats, high: Floats, length: float) -> list[tuple[float, float]]:
    found, begins = [], np.unique(low)
    while len(begins):
        begin = begins[0]
        begins = begins[begins > begin + (1 - _OVERLAP) * length]
        is_in = (low >= begin) & (high <= begin + length)
        found.append((float(begin), float(high[is_in].max())))
    return found


def _shrunk(wanted: Subscribers, ends: list[Floats], index: Ints) -> Floats:
    """The least boxes round what is within products of intervals, without those that have none."""
    d = len(ends)
    chosen = np.stack([ends[k][index[:, k]] for k in range(d)], axis=1)
    is_in = containing(wanted, chosen[:, :, 0], chosen[:, :, 1])
    has_some = is_in.any(axis=1)
    is_in = is_in[has_some]
    low = [np.where(is_in, wanted.lower[:, k], np.inf).min(axis=1) for k in range(d)]
    high = [np.where(is_in, wanted.upper[:, k], -np.inf).max(axis=1) for k in range(d)]
    return np.stack([*low, *high], axis=1)
