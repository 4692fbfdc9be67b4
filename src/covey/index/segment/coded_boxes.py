"""Boxes of codes with the ends that codes do not tell.

Row i holds the lower codes of all attributes, then the upper ones. An even code tells its end; the
ends of odd ones are kept in the order of the boxes, column by column: all of a column where nearly
all are odd, else only those, with a bit for each box and a count every 64 boxes to find them by.

Cost: 4 bytes per attribute and box, 8 per end between two boundaries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from covey.geometry.scalars import Scalars
from covey.index.segment.codebook import LAST, NULL, UNBOUNDED
from covey.index.segment.encoded_column import EncodedColumn

__all__ = ["CodedBoxes", "pack_bits"]

Ints = NDArray[np.int64]
_MOSTLY_ODD_SHARE = 0.97
_ALL, _NONE = -1, -2  # of a column's ends are kept


@dataclass(frozen=True, slots=True)
class CodedBoxes:
    """n boxes in d attributes: column k is the lower end of attribute k, column d + k the upper.

    The ends of column c start at `starts[c]`; `sparse[c]` is its row in `odd` and `before`, if some
    of its ends are stored and others are not. The names of the fields are those of stored arrays.
    """

    codes: NDArray[np.uint16]
    ends: Ints
    starts: Ints
    sparse: Ints
    odd: NDArray[np.uint64]
    before: NDArray[np.uint32]

    @classmethod
    def build(cls, codes: NDArray[np.uint16], end_columns: Sequence[Ints | None]) -> CodedBoxes:
        """From codes and, column by column, the ends of all boxes (none: no end was given)."""
        count, columns = codes.shape
        starts, sparse = np.zeros(columns, np.int64), np.full(columns, _NONE, np.int64)
        ends = [np.empty(0, np.int64)]
        odds: list[NDArray[np.uint64]] = []
        befores: list[NDArray[np.uint32]] = []
        for column, given in enumerate(end_columns):
            starts[column] = sum(map(len, ends))
            odd = codes[:, column] & 1 == 1
            if given is None or not odd.any():
                continue
            if odd.mean() >= _MOSTLY_ODD_SHARE:
                sparse[column] = _ALL
                ends.append(given)
                continue
            sparse[column] = len(odds)
            ends.append(given[odd])
            odds.append(pack_bits(odd))
            each = np.bitwise_count(odds[-1]).astype(np.uint32)
            befores.append(np.cumsum(each, dtype=np.uint32) - each)
        words = -(-count // 64)
        odd_words = np.array(odds, np.uint64).reshape(len(odds), words)
        before = np.array(befores, np.uint32).reshape(len(odds), words)
        return cls(codes, np.concatenate(ends), starts, sparse, odd_words, before)

    def __len__(self) -> int:
        return len(self.codes)

    def read_constraints(self, attribute: int, column: EncodedColumn, rows: Ints) -> Scalars:
        """What some boxes say of an attribute, as constraints on its integers."""
        width = self.codes.shape[1] // 2
        low, high = self.codes[rows, attribute], self.codes[rows, width + attribute]
        lower = self._read_ends(attribute, column, rows)
        upper = self._read_ends(width + attribute, column, rows)
        lower[low <= UNBOUNDED], upper[high == LAST] = column.domain.low, column.domain.high
        no_value = high == NULL
        lower[no_value], upper[no_value] = column.domain.high, column.domain.low
        return Scalars.from_intervals(column.domain, lower, upper, nulls=low == NULL)

    def _read_ends(self, end_column: int, column: EncodedColumn, rows: Ints) -> Ints:
        """The ends of one column for some boxes; of those without an end it says nothing."""
        codes = self.codes[rows, end_column]
        ends = column.codebook.decode_keys(codes)
        odd = np.flatnonzero(codes & 1)
        places = rows[odd]
        if self.sparse[end_column] >= 0:
            words, before = self.odd[self.sparse[end_column]], self.before[self.sparse[end_column]]
            earlier = words[places >> 6] & (
                (np.uint64(1) << (places & 63).astype(np.uint64)) - np.uint64(1)
            )
            places = before[places >> 6] + np.bitwise_count(earlier).astype(np.int64)
        ends[odd] = self.ends[self.starts[end_column] + places]
        return ends


def pack_bits(flags: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Flags as words of 64, the first the lowest bit."""
    words = np.zeros(-(-len(flags) // 64) * 8, np.uint8)
    packed = np.packbits(flags, bitorder="little")
    words[: len(packed)] = packed
    return words.view(np.uint64)
