"""The answers of several segments as one: what is dead left out, and sorted by what was asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey.compiled import kernel
from covey.index import Pairs

__all__ = ["NONE_DEAD", "Answer", "together"]

AnyRows = NDArray[np.integer[Any]]
Answer = tuple[AnyRows, AnyRows, NDArray[np.uint8], int]
"""What was asked, what is stored, bits of the dead, and the first row of the segment."""
NONE_DEAD = np.empty(0, np.uint8)


def together(answers: Sequence[Answer]) -> Pairs:
    """Pairs of all answers, without the dead.

    Each answer is sorted by what was asked, and so is the whole; of what is stored there is no
    order. Cost: some nanoseconds a pair.
    """
    size = sum(len(asked) for asked, *_ in answers)
    asked, stored = np.empty(size, np.int32), np.empty(size, np.int64)
    count = 0
    for some_asked, some_stored, dead, first in answers:
        count += _kept(some_asked, some_stored, dead, first, asked[count:], stored[count:])
    asked, stored = asked[:count], stored[:count]
    if len(answers) == 1 or not count:
        return Pairs(asked, stored)
    by_asked, its_stored = np.empty(count, np.int32), np.empty(count, np.int64)
    _sorted(asked, stored, int(asked.max()) + 1, by_asked, its_stored)
    return Pairs(by_asked, its_stored)


@kernel
def _kept(
    asked: AnyRows, stored: AnyRows, dead: NDArray[np.uint8], first: int,
    kept_asked: NDArray[np.int32], kept_stored: NDArray[np.int64],
) -> int:  # fmt: skip
    """Writes the pairs whose stored row is alive; gives how many there are."""
    count = 0
    for i in range(len(asked)):
        row = np.int64(stored[i])
        if len(dead) == 0 or (dead[row >> 3] >> (row & 7)) & 1 == 0:
            kept_asked[count], kept_stored[count] = asked[i], first + row
            count += 1
    return count


@kernel
def _sorted(
    asked: NDArray[np.int32], stored: NDArray[np.int64], count: int,
    by_asked: NDArray[np.int32], its_stored: NDArray[np.int64],
) -> None:  # fmt: skip
    """Writes pairs by what was asked, run by run: each answer has them together already."""
    at = np.zeros(count + 1, np.int64)
    for row in asked:
        at[row + 1] += 1
    for row in range(count):
        at[row + 1] += at[row]
    i = 0
    while i < len(asked):
        row = asked[i]
        to = at[row]
        while i < len(asked) and asked[i] == row:
            by_asked[to], its_stored[to] = row, stored[i]
            i += 1
            to += 1
        at[row] = to
