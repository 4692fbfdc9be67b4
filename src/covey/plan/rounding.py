"""Filters from a linear program's parts of rectangles: drawn, and widened. (papers: assignment)"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from covey.plan.filters import Filters

__all__ = ["rounded", "wider"]

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

_WIDER = 0.1  # by which filters are widened in the end
_ROUNDINGS = 20


def rounded(
    parts: Floats, may: Bools, has: Bools, low: Floats, high: Floats, random: np.random.Generator
) -> Filters:
    """Rectangles drawn by their parts, again until they cover the sample, or as well as they do."""
    chance = 1 - (1 - parts) ** np.log(len(may))
    best, least = None, len(may) + 1
    for _ in range(_ROUNDINGS):
        drawn = random.random(chance.shape) < chance
        is_in = has.astype(np.float32) @ drawn.T > 0
        lacking = int(np.count_nonzero(~(may & is_in).any(axis=1)))
        if lacking < least:
            best, least = drawn, lacking
        if not lacking:
            break
    assert best is not None
    counts = best.sum(axis=1)
    lower = np.zeros((len(best), max(1, int(counts.max())), low.shape[1]))
    upper = np.zeros_like(lower)
    for broker, row in enumerate(best):
        lower[broker, : counts[broker]], upper[broker, : counts[broker]] = low[row], high[row]
    return Filters(lower, upper, counts.astype(np.int64))


def wider(filters: Filters) -> Filters:
    """Each rectangle longer by a tenth on every axis, about its centre."""
    by = _WIDER / 2 * (filters.upper - filters.lower)
    return replace(filters, lower=filters.lower - by, upper=filters.upper + by)
