"""Concatenation of the pairs of several segments, without dead rows, sorted by query row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey._jit import kernel
from covey.index import Pairs

__all__ = ["NO_TOMBSTONES", "SegmentPairs", "concat_live_pairs"]

AnyRows = NDArray[np.integer[Any]]
SegmentPairs = tuple[AnyRows, AnyRows, NDArray[np.uint8], int]
"""Query rows, stored rows, bits of dead rows, and the first row of the segment in the snapshot."""
NO_TOMBSTONES = np.empty(0, np.uint8)
"""Bits of a segment in which all rows are live."""


def concat_live_pairs(segment_pairs: Sequence[SegmentPairs]) -> Pairs:
    """Return the pairs of all segments together, without pairs whose stored row is dead.

    The pairs of each segment must be sorted by query row; the result is sorted by query row as
    well. The stored rows of one query row are in no particular order. In the result, stored rows
    are rows of the snapshot: the first row of the segment is added to them.

    Cost: some nanoseconds per pair.
    """
    size = sum(len(query_rows) for query_rows, *_ in segment_pairs)
    query_rows, stored_rows = np.empty(size, np.int32), np.empty(size, np.int64)
    count = 0
    for segment_query_rows, segment_stored_rows, dead_bits, first_row in segment_pairs:
        count += _write_live_pairs(
            segment_query_rows,
            segment_stored_rows,
            dead_bits,
            first_row,
            query_rows[count:],
            stored_rows[count:],
        )
    query_rows, stored_rows = query_rows[:count], stored_rows[:count]
    if len(segment_pairs) == 1 or not count:
        return Pairs(query_rows, stored_rows)
    sorted_query_rows, sorted_stored_rows = np.empty(count, np.int32), np.empty(count, np.int64)
    _write_by_query_row(
        query_rows, stored_rows, int(query_rows.max()) + 1, sorted_query_rows, sorted_stored_rows
    )
    return Pairs(sorted_query_rows, sorted_stored_rows)


@kernel
def _write_live_pairs(
    query_rows: AnyRows, stored_rows: AnyRows, dead_bits: NDArray[np.uint8], first_row: int,
    out_query_rows: NDArray[np.int32], out_stored_rows: NDArray[np.int64],
) -> int:  # fmt: skip
    """Write the pairs whose stored row is live, and return their number.

    `first_row` is added to each stored row.
    """
    count = 0
    for i in range(len(query_rows)):
        row = np.int64(stored_rows[i])
        if len(dead_bits) == 0 or (dead_bits[row >> 3] >> (row & 7)) & 1 == 0:
            out_query_rows[count], out_stored_rows[count] = query_rows[i], first_row + row
            count += 1
    return count


@kernel
def _write_by_query_row(
    query_rows: NDArray[np.int32], stored_rows: NDArray[np.int64], query_count: int,
    out_query_rows: NDArray[np.int32], out_stored_rows: NDArray[np.int64],
) -> None:  # fmt: skip
    """Write the pairs sorted by query row, by a stable counting sort.

    `query_count` is greater than each query row. A run of pairs with the same query row is moved as
    a whole, which is faster.
    """
    next_slots = np.zeros(query_count + 1, np.int64)
    for row in query_rows:
        next_slots[row + 1] += 1
    for row in range(query_count):
        next_slots[row + 1] += next_slots[row]
    i = 0
    while i < len(query_rows):
        row = query_rows[i]
        slot = next_slots[row]
        while i < len(query_rows) and query_rows[i] == row:
            out_query_rows[slot], out_stored_rows[slot] = row, stored_rows[i]
            i += 1
            slot += 1
        next_slots[row] = slot
