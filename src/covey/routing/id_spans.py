"""Ids, each with the numbers of its regions, which follow one another."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["IdSpans"]

Numbers = NDArray[np.int64]


class IdSpans:
    """Numbers by id. Cost: of an id with one number, which most have, an entry of a dictionary.

    >>> spans = IdSpans()
    >>> spans.insert(["ann", "bob", "cyd"], 10, np.array([0, 1, 1]))
    >>> [numbers.tolist() for numbers in spans.find_numbers(["bob", "ann"])]
    [[11, 12, 10], [0, 0, 1]]
    >>> spans.pop(["cyd", "bob", "dan"]).tolist(), list(spans)
    ([11, 12], ['ann'])
    """

    def __init__(self) -> None:
        self._span_starts: dict[Hashable, int] = {}  # the number, or ~n for the n-th long span
        self._long_spans: list[tuple[int, int]] = []

    def __len__(self) -> int:
        return len(self._span_starts)

    def __contains__(self, id_: Hashable) -> bool:
        return id_ in self._span_starts

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._span_starts)

    def insert(self, ids: Sequence[Hashable], first_number: int, id_rows: Numbers) -> None:
        """New ids: number `first_number + r` is of `ids[id_rows[r]]`, and `id_rows` ascends."""
        ends = first_number + np.searchsorted(id_rows, np.arange(len(ids) + 1))
        found = ends[:-1].copy()
        others = np.flatnonzero(np.diff(ends) != 1)
        found[others] = ~(len(self._long_spans) + np.arange(len(others)))
        self._long_spans += zip(ends[others].tolist(), ends[others + 1].tolist(), strict=True)
        self._span_starts.update(zip(ids, found.tolist(), strict=True))

    def find_numbers(self, ids: Sequence[Hashable]) -> tuple[Numbers, Numbers]:
        """The numbers of some ids, one id after another, and for each the index of its id."""
        return self._expand_spans([self._span_starts[key] for key in ids])

    def pop(self, ids: Iterable[Hashable]) -> Numbers:
        """Removes ids and gives their numbers; an id that is not there is no error."""
        return self._expand_spans(
            [self._span_starts.pop(key) for key in ids if key in self._span_starts]
        )[0]

    def _expand_spans(self, span_starts: Sequence[int]) -> tuple[Numbers, Numbers]:
        first = np.array(span_starts, np.int64)
        counts = np.ones(len(first), np.int64)
        for place in np.flatnonzero(first < 0).tolist():
            start, stop = self._long_spans[~int(first[place])]
            first[place], counts[place] = start, stop - start
        of = np.repeat(np.arange(len(first)), counts)
        within = np.arange(len(of)) - np.repeat(np.cumsum(counts) - counts, counts)
        return first[of] + within, of
