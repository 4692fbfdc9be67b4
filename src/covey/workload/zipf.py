"""Zipf's law over a bounded number of ranks: rank r has weight 1 / (r + 1) ** exponent."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

__all__ = ["draw_zipf_ranks"]


def draw_zipf_ranks(
    random: np.random.Generator, rank_count: int, size: int, *, exponent: float = 1.0
) -> NDArray[np.int64]:
    """Draw `size` ranks from 0 to `rank_count` - 1 by Zipf's law.

    With exponent 0, all ranks are equally likely.

    Cost: a binary search per drawn rank, about 50 ns.

    >>> ranks = draw_zipf_ranks(np.random.default_rng(1), 5000, 100_000)
    >>> bool(0.10 < np.mean(ranks == 0) < 0.12), int(ranks.max()) < 5000
    (True, True)
    """
    return np.searchsorted(
        _cumulative_shares(rank_count, exponent), random.random(size), side="right"
    )


@lru_cache(maxsize=32)
def _cumulative_shares(rank_count: int, exponent: float) -> NDArray[np.float64]:
    weights = np.arange(1, rank_count + 1, dtype=np.float64) ** -exponent
    shares: NDArray[np.float64] = np.cumsum(weights) / weights.sum()
    shares[-1] = 1.0
    return shares
