"""Random rows of codes of every kind that kernels read."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from covey.index.kernels.bits import LAST

Codes = NDArray[np.uint16]
WIDTH = 4
SPREADS = [3, 40, 2000, LAST - 3]
seeds = st.integers(0, 10_000)


def boxes(seed: int, count: int, spread: int) -> Codes:
    """Draw boxes with unbounded, null and one-sided intervals and unconstrained attributes."""
    random = np.random.default_rng(seed)
    ends = np.sort(3 + random.integers(0, spread, (2, count, WIDTH)), axis=0)
    kind = random.integers(0, 6, (count, WIDTH)) * (random.random(WIDTH) < 0.8)
    lower = np.select([kind == 0, kind == 1, kind == 2], [0, 0, 2], ends[0])
    upper = np.select([kind == 0, kind == 1, kind == 3], [LAST, 0, LAST], ends[1])
    return np.hstack([lower, upper]).astype(np.uint16)
