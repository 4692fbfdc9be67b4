"""Keys, each with the numbers of its regions, which follow one another."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["Spans"]

Numbers = NDArray[np.int64]


class Spans:
    """Numbers by key. Cost: of a key with one number, which most have, an entry of a dictionary.

    >>> spans = Spans()
    >>> spans.put(["ann", "bob", "cyd"], 10, np.array([0, 1, 1]))
    >>> [numbers.tolist() for numbers in spans.numbers(["bob", "ann"])]
    [[11, 12, 10], [0, 0, 1]]
    >>> spans.pop(["cyd", "bob", "dan"]).tolist(), list(spans)
    ([11, 12], ['ann'])
    """

    def __init__(self) -> None:
        self._first: dict[Hashable, int] = {}  # the number, or ~n for the n-th of the others
        self._others: list[tuple[int, int]] = []

    def __len__(self) -> int:
        return len(self._first)

    def __contains__(self, key: Hashable) -> bool:
        return key in self._first

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._first)

    def put(self, keys: Sequence[Hashable], first: int, of: Numbers) -> None:
        """New keys: number `first + r` is of `keys[of[r]]`, and `of` ascends."""
        ends = first + np.searchsorted(of, np.arange(len(keys) + 1))
        found = ends[:-1].copy()
        others = np.flatnonzero(np.diff(ends) != 1)
        found[others] = ~(len(self._others) + np.arange(len(others)))
        self._others += zip(ends[others].tolist(), ends[others + 1].tolist(), strict=True)
        self._first.update(zip(keys, found.tolist(), strict=True))

    def numbers(self, keys: Sequence[Hashable]) -> tuple[Numbers, Numbers]:
        """The numbers of some keys, one key after another, and for each the place of its key."""
        return self._numbers([self._first[key] for key in keys])

    def pop(self, keys: Iterable[Hashable]) -> Numbers:
        """The same of those that are there, which then are not."""
        return self._numbers([self._first.pop(key) for key in keys if key in self._first])[0]

    def _numbers(self, found: Sequence[int]) -> tuple[Numbers, Numbers]:
        first = np.array(found, np.int64)
        counts = np.ones(len(first), np.int64)
        for place in np.flatnonzero(first < 0).tolist():
            start, stop = self._others[~int(first[place])]
            first[place], counts[place] = start, stop - start
        of = np.repeat(np.arange(len(first)), counts)
        within = np.arange(len(of)) - np.repeat(np.cumsum(counts) - counts, counts)
        return first[of] + within, of
