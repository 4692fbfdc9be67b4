"""Pair buffers: memory for the pairs that a search finds, reused by later searches.

New memory costs more than the search itself, because the operating system clears every page. Each
thread has a buffer as large as its largest search needed, up to 64 MB.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from covey.errors import ResultTooLargeError
from covey.index.kernels.pair_grouping import group_pairs

__all__ = ["check_max_pairs", "collect_pairs", "group_by"]

Pair = tuple[NDArray[np.int32], NDArray[np.int32]]
_INITIAL_LENGTH, _MAX_LENGTH = 1 << 17, 1 << 23


class _ThreadBuffer(threading.local):
    """Two arrays of equal length for each thread."""

    def __init__(self) -> None:
        self.pair = _allocate_pair(_INITIAL_LENGTH)


def _allocate_pair(length: int) -> Pair:
    """Return two uninitialised arrays of int32."""
    return np.empty(length, np.int32), np.empty(length, np.int32)


_thread_buffer = _ThreadBuffer()


def collect_pairs(
    search: Callable[..., int],
    node_count: int,
    arguments: Sequence[object],
    *,
    more_arguments: Sequence[object] = (),
    max_pairs: int | None = None,
) -> Pair:
    """Return all pairs that the kernel `search` finds, valid until the next call in this thread.

    The kernel is called with `arguments`, its state, the two arrays of the buffer and
    `more_arguments`, and returns the number of pairs that it wrote. When the buffer is full, the
    kernel is called again, until its state says that all `node_count` nodes have been searched.

    Raises:
        ResultTooLargeError: if more than `max_pairs` pairs are found. The search then stops.
    """
    state = np.zeros(2, np.uint64)
    portions: list[Pair] = []
    total = 0
    while True:
        first, second = _thread_buffer.pair
        count = search(*arguments, state, first, second, *more_arguments)
        total += count
        check_max_pairs(total, max_pairs)
        if state[0] >= node_count and not portions:
            return first[:count], second[:count]
        portions.append((first[:count].copy(), second[:count].copy()))
        if state[0] >= node_count:
            return np.concatenate([a for a, _ in portions]), np.concatenate(
                [b for _, b in portions]
            )
        if len(first) < _MAX_LENGTH:
            _thread_buffer.pair = _allocate_pair(2 * len(first))


def check_max_pairs(pair_count: int, max_pairs: int | None) -> None:
    """Raise ResultTooLargeError if there are more pairs than `max_pairs`."""
    if max_pairs is not None and pair_count > max_pairs:
        raise ResultTooLargeError(
            f"the search found more than {max_pairs} pairs: match fewer events at once"
        )


def group_by(
    groups: NDArray[np.int32], values: NDArray[np.int32], group_count: int
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return two arrays: the start of each group, and the values sorted by group.

    The values of group g are those from `starts[g]` to `starts[g + 1]` - 1 in the second array, in
    their original order.
    """
    starts, by_group = np.empty(group_count + 1, np.int64), np.empty(len(values), np.int32)
    group_pairs(groups, values, starts, by_group)
    return starts, by_group
