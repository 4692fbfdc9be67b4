"""Room for the pairs that a search finds, kept from call to call.

Fresh memory costs more than the search itself: the system clears it page by page. Each thread
keeps what its largest search needed, up to 64 MB.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey.errors import TooManyPairs
from covey.index.kernels.groups import grouped

__all__ = ["check_bound", "found", "sorted_by"]

Pair = tuple[NDArray[np.int32], NDArray[np.int32]]
_FIRST, _MOST = 1 << 17, 1 << 23


class _Room(threading.local):
    """Two arrays of equal length."""

    def __init__(self) -> None:
        self.pair = _pair(_FIRST)


def _pair(size: int) -> Pair:
    return np.empty(size, np.int32), np.empty(size, np.int32)


_room = _Room()


def found(
    search: Callable[..., int],
    nodes: int,
    given: Sequence[Any],
    more: Sequence[Any] = (),
    most: int | None = None,
) -> Pair:
    """All pairs that a kernel finds in so many nodes, valid until the next call in this thread.

    `TooManyPairs` if there are more than `most`, without looking for the rest of them.
    """
    state = np.zeros(2, np.uint64)
    parts: list[Pair] = []
    total = 0
    while True:
        first, second = _room.pair
        count = search(*given, state, first, second, *more)
        total += count
        check_bound(total, most)
        if state[0] >= nodes and not parts:
            return first[:count], second[:count]
        parts.append((first[:count].copy(), second[:count].copy()))
        if state[0] >= nodes:
            return np.concatenate([a for a, _ in parts]), np.concatenate([b for _, b in parts])
        if len(first) < _MOST:
            _room.pair = _pair(2 * len(first))


def check_bound(pairs: int, most: int | None) -> None:
    """Raises where more pairs were found than are wanted."""
    if most is not None and pairs > most:
        raise TooManyPairs(f"more than {most} pairs: ask for fewer events at once")


def sorted_by(
    groups: NDArray[np.int32], values: NDArray[np.int32], count: int
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Where each of `count` groups starts, and the values by their group, in their order."""
    starts, by_group = np.empty(count + 1, np.int64), np.empty(len(values), np.int32)
    grouped(groups, values, starts, by_group)
    return starts, by_group
