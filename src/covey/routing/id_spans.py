"""Ids, each with the numbers of its regions, which are consecutive."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["IdSpans"]

Numbers = NDArray[np.int64]


class IdSpans:
    """Region numbers by id; the numbers of an id are consecutive.

    Cost: a dictionary entry per id, and a pair of numbers for each id that does not have exactly
    one region.

    >>> spans = IdSpans()
    >>> spans.insert(["ann", "bob", "cyd"], 10, np.array([0, 1, 1]))
    >>> [numbers.tolist() for numbers in spans.find_numbers(["bob", "ann"])]
    [[11, 12, 10], [0, 0, 1]]
    >>> spans.pop(["cyd", "bob", "dan"]).tolist(), list(spans)
    ([11, 12], ['ann'])
    """

    def __init__(self) -> None:
        # The number of an id's only region, or ~n if the numbers of the id are item n of
        # `_long_spans`, as start and stop.
        self._span_starts: dict[Hashable, int] = {}
        self._long_spans: list[tuple[int, int]] = []

    def __len__(self) -> int:
        return len(self._span_starts)

    def __contains__(self, id_: Hashable) -> bool:
        return id_ in self._span_starts

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._span_starts)

    def insert(self, ids: Sequence[Hashable], first_number: int, id_rows: Numbers) -> None:
        """Insert new ids with consecutive numbers.

        Args:
            ids: ids that have not been inserted.
            first_number: the number of the first region of all these ids.
            id_rows: region number `first_number + r` belongs to `ids[id_rows[r]]`; ascending.
        """
        ends = first_number + np.searchsorted(id_rows, np.arange(len(ids) + 1))
        span_starts = ends[:-1].copy()
        long_rows = np.flatnonzero(np.diff(ends) != 1)
        span_starts[long_rows] = ~(len(self._long_spans) + np.arange(len(long_rows)))
        self._long_spans += zip(ends[long_rows].tolist(), ends[long_rows + 1].tolist(), strict=True)
        self._span_starts.update(zip(ids, span_starts.tolist(), strict=True))

    def find_numbers(self, ids: Sequence[Hashable]) -> tuple[Numbers, Numbers]:
        """Return the numbers of `ids`, in their order, and for each number the index of its id.

        Every id must have been inserted.
        """
        return self._expand_spans([self._span_starts[key] for key in ids])

    def pop(self, ids: Iterable[Hashable]) -> Numbers:
        """Remove ids and return their numbers; unknown ids are ignored."""
        return self._expand_spans(
            [self._span_starts.pop(key) for key in ids if key in self._span_starts]
        )[0]

    def _expand_spans(self, span_starts: Sequence[int]) -> tuple[Numbers, Numbers]:
        """Return the region numbers for values of `_span_starts`, in the order of the values.

        The second array has for each number the index of its value.
        """
        first = np.array(span_starts, np.int64)
        counts = np.ones(len(first), np.int64)
        for span in np.flatnonzero(first < 0).tolist():
            start, stop = self._long_spans[~int(first[span])]
            first[span], counts[span] = start, stop - start
        span_of_number = np.repeat(np.arange(len(first)), counts)
        offsets = np.arange(len(span_of_number)) - np.repeat(np.cumsum(counts) - counts, counts)
        return first[span_of_number] + offsets, span_of_number
