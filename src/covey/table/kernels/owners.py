"""Which region owns each segment of the curve: the first that has it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covey.compiled import kernel

__all__ = ["owners_of", "painted"]

Numbers = NDArray[np.int64]


@kernel
def painted(offsets: Numbers, start: Numbers, stop: Numbers, segments: int) -> Numbers:
    """The first row that has each segment: each is painted once, and skipped from then on."""
    owners, after = np.full(segments, -1), np.arange(segments + 1)
    for row in range(len(offsets) - 1):
        for r in range(offsets[row], offsets[row + 1]):
            at = start[r]
            while True:
                while after[at] != at:
                    after[at] = after[after[at]]
                    at = after[at]
                if at >= stop[r]:
                    break
                owners[at] = row
                after[at] = at + 1
    return owners


@kernel
def owners_of(
    offsets: Numbers, start: Numbers, stop: Numbers, owners: Numbers, asked: Numbers
) -> tuple[Numbers, Numbers]:
    """The owners of the segments of each asked row, each once, ascending; or the row alone."""
    found = np.empty(4 * len(asked) + 16, np.int64)
    bounds, seen = np.zeros(len(asked) + 1, np.int64), np.full(len(offsets), -1)
    count = 0
    for i in range(len(asked)):
        row, begun, own = asked[i], count, False
        for r in range(offsets[row], offsets[row + 1]):
            for s in range(start[r], stop[r]):
                owner = owners[s]
                own |= owner == row
                if seen[owner] == i:
                    continue
                seen[owner] = i
                if count == len(found):
                    found = np.concatenate((found, np.empty_like(found)))
                found[count] = owner
                count += 1
        if own:
            found[begun] = row
            count = begun + 1
        found[begun:count].sort()
        bounds[i + 1] = count
    return bounds, found[:count].copy()
