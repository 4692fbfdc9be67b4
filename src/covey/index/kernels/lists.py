"""Constraints on keys that are no intervals: lists, and null beside an interval."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covey.compiled import kernel

__all__ = ["keys_admitted"]


@kernel
def keys_admitted(
    asked: NDArray[np.int32], at: NDArray[np.int64], keys: NDArray[np.int64],
    valid: NDArray[np.bool_], lower: NDArray[np.int64], upper: NDArray[np.int64],
    nulls: NDArray[np.bool_], listed: NDArray[np.int8], starts: NDArray[np.int64],
    values: NDArray[np.int64],
) -> NDArray[np.bool_]:  # fmt: skip
    """Whether constraint `at[i]` admits the key of event `asked[i]`: `Scalars.contains`."""
    answer = np.empty(len(asked), np.bool_)
    for i in range(len(asked)):
        event, which = asked[i], at[i]
        if not valid[event]:
            answer[i] = nulls[which]
            continue
        key = keys[event]
        is_listed = False
        for value in values[starts[which] : starts[which + 1]]:
            is_listed |= value == key
        inside = lower[which] <= key <= upper[which]
        answer[i] = inside and (listed[which] == 0 or is_listed == (listed[which] > 0))
    return answer
