"""Intervals of integers pair by pair, compiled: most constraints are one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covey.compiled import kernel

__all__ = ["UNSAID", "interval_covers"]

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
UNSAID = 2
"""The answer where lists decide; others are 0 and 1."""


@kernel
def interval_covers(
    lower: Ints, upper: Ints, nulls: Bools, listed: NDArray[np.int8], outer: Ints,
    in_lower: Ints, in_upper: Ints, in_nulls: Bools, in_listed: NDArray[np.int8], inner: Ints,
) -> NDArray[np.int8]:  # fmt: skip
    """Whether the interval at `outer[k]` admits all that the one at `inner[k]` does."""
    answer = np.empty(len(outer), np.int8)
    for k in range(len(outer)):
        i, j = outer[k], inner[k]
        no_value = in_lower[j] > in_upper[j]
        wide = lower[i] <= in_lower[j] and in_upper[j] <= upper[i]
        if wide and not no_value and (listed[i] != 0 or in_listed[j] != 0):
            answer[k] = UNSAID
        else:
            answer[k] = (wide or no_value) and (nulls[i] or not in_nulls[j])
    return answer
