"""Boxes of codes, with the interval ends that codes do not determine.

A box is a row of codes: the lower codes of all attributes, then the upper codes. An even code
determines the end of the interval. For odd codes the ends are stored as well, column by column, in
the order of the boxes. If nearly all codes of a column are odd, all ends of the column are stored.
Otherwise only the ends of odd codes are stored; they are found by one bit per box and a count for
every 64 boxes.

Cost: 4 bytes per attribute and box, 8 bytes per stored end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from covey.geometry.scalars import Scalars
from covey.index.segment.encoded_column import LAST, NULL, UNBOUNDED, EncodedColumn

__all__ = ["CodedBoxes", "pack_bits"]

Ints = NDArray[np.int64]
_MOSTLY_ODD_SHARE = 0.97  # smallest share of odd codes at which all ends of a column are stored
_ALL, _NONE = -1, -2  # in `sparse`: all or none of the ends of a column are stored


@dataclass(frozen=True, slots=True)
class CodedBoxes:
    """Codes of n boxes in d attributes, with the interval ends that codes do not determine.

    Column k is for the lower ends of attribute k, and column d + k for its upper ends. The names of
    the fields are those of stored arrays.

    Args:
        codes: the codes, n rows and 2d columns.
        ends: the stored ends of all columns.
        starts: for each column, the position in `ends` of its first end.
        sparse: for each column, its row in `odd` and `before` if only the ends of odd codes are
            stored; -1 if all ends of the column are stored, -2 if none is.
        odd: for each of these columns, one bit per box, which is set if the code is odd.
        before: for each word of `odd`, the number of bits set in earlier words of its row.
    """

    codes: NDArray[np.uint16]
    ends: Ints
    starts: Ints
    sparse: Ints
    odd: NDArray[np.uint64]
    before: NDArray[np.uint32]

    @classmethod
    def build(cls, codes: NDArray[np.uint16], end_columns: Sequence[Ints | None]) -> CodedBoxes:
        """Build the boxes from their codes and, for each column of codes, the ends of all boxes.

        A column whose ends are None is stored without ends.
        """
        count, columns = codes.shape
        starts, sparse = np.zeros(columns, np.int64), np.full(columns, _NONE, np.int64)
        ends = [np.empty(0, np.int64)]
        odd_bits: list[NDArray[np.uint64]] = []
        counts_before: list[NDArray[np.uint32]] = []
        for column, column_ends in enumerate(end_columns):
            starts[column] = sum(map(len, ends))
            odd = codes[:, column] & 1 == 1
            if column_ends is None or not odd.any():
                continue
            if odd.mean() >= _MOSTLY_ODD_SHARE:
                sparse[column] = _ALL
                ends.append(column_ends)
                continue
            sparse[column] = len(odd_bits)
            ends.append(column_ends[odd])
            odd_bits.append(pack_bits(odd))
            word_counts = np.bitwise_count(odd_bits[-1]).astype(np.uint32)
            counts_before.append(np.cumsum(word_counts, dtype=np.uint32) - word_counts)
        words = -(-count // 64)
        odd_words = np.array(odd_bits, np.uint64).reshape(len(odd_bits), words)
        before = np.array(counts_before, np.uint32).reshape(len(odd_bits), words)
        return cls(codes, np.concatenate(ends), starts, sparse, odd_words, before)

    def __len__(self) -> int:
        return len(self.codes)

    def read_constraints(self, attribute: int, column: EncodedColumn, rows: Ints) -> Scalars:
        """Return the intervals of the boxes at `rows` on one attribute.

        The attribute has number `attribute` and encoding `column`. The result is constraints on the
        integers of this encoding.
        """
        width = self.codes.shape[1] // 2
        low, high = self.codes[rows, attribute], self.codes[rows, width + attribute]
        lower = self._read_ends(attribute, column, rows)
        upper = self._read_ends(width + attribute, column, rows)
        lower[low <= UNBOUNDED], upper[high == LAST] = column.domain.low, column.domain.high
        no_value = high == NULL
        lower[no_value], upper[no_value] = column.domain.high, column.domain.low
        return Scalars.from_intervals(column.domain, lower, upper, nulls=low == NULL)

    def _read_ends(self, end_column: int, column: EncodedColumn, rows: Ints) -> Ints:
        """Return the ends of the boxes at `rows` in one column of codes.

        For the codes of null and of unbounded ends, the result is arbitrary.
        """
        codes = self.codes[rows, end_column]
        ends = column.codebook.decode_keys(codes)
        odd_rows = np.flatnonzero(codes & 1)
        end_rows = rows[odd_rows]
        if self.sparse[end_column] >= 0:
            words, before = self.odd[self.sparse[end_column]], self.before[self.sparse[end_column]]
            lower_bits = words[end_rows >> 6] & (
                (np.uint64(1) << (end_rows & 63).astype(np.uint64)) - np.uint64(1)
            )
            end_rows = before[end_rows >> 6] + np.bitwise_count(lower_bits).astype(np.int64)
        ends[odd_rows] = self.ends[self.starts[end_column] + end_rows]
        return ends


def pack_bits(flags: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Return flags as words of 64 bits; the first flag is the lowest bit of the first word."""
    words = np.zeros(-(-len(flags) // 64) * 8, np.uint8)
    packed = np.packbits(flags, bitorder="little")
    words[: len(packed)] = packed
    return words.view(np.uint64)
