"""Tombstones: one bit per subscription of a segment, set if a later change removed or replaced it.

All tombstones of a version are in one file. So a batch of changes writes two files, a segment and
the tombstones, no matter in how many segments rows die.

Cost: one bit per stored subscription and version, 1.25 MB for ten million.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey.errors import StoreError
from covey.store.storage.array_file import EncodedFile, MappedArrays, encode_arrays

__all__ = ["Tombstones", "encode_tombstones", "read_tombstones"]

Bits = NDArray[np.uint8]
Rows = NDArray[np.int64]
AnyRows = NDArray[np.integer[Any]]  # row numbers in pairs; their dtype is chosen by the index

_KIND = "tombstones"


@dataclass(frozen=True, slots=True)
class Tombstones:
    """Set of dead rows among `row_count` rows; `bits` is empty if no row is dead.

    >>> two = Tombstones.empty(10).with_rows(np.array([3, 7]))
    >>> two.dead_count, two.is_dead(np.array([2, 3])).tolist()
    (2, [False, True])
    """

    row_count: int
    dead_count: int
    bits: Bits

    @classmethod
    def empty(cls, row_count: int) -> Tombstones:
        """Return tombstones of a segment in which all rows are live."""
        return cls(row_count, 0, np.empty(0, np.uint8))

    @classmethod
    def from_bits(cls, row_count: int, bits: Bits) -> Tombstones:
        """Return tombstones from one bit per row; row 0 is the lowest bit of the first byte."""
        return cls(row_count, int(np.bitwise_count(bits).sum(dtype=np.int64)), bits)

    def with_rows(self, rows: Rows) -> Tombstones:
        """Return new tombstones in which `rows` are dead as well; `self` does not change."""
        if not len(rows):
            return self
        bits = self.bits.copy() if self.dead_count else np.zeros(-(-self.row_count // 8), np.uint8)
        np.bitwise_or.at(bits, rows >> 3, np.left_shift(1, rows & 7).astype(np.uint8))
        return Tombstones.from_bits(self.row_count, bits)

    def with_bits(self, bits: Bits) -> Tombstones:
        """Return new tombstones in which rows with a set bit are dead as well.

        `bits` has one bit per row, as in `from_bits`.
        """
        return Tombstones.from_bits(self.row_count, self.bits | bits if self.dead_count else bits)

    def is_dead(self, rows: AnyRows) -> NDArray[np.bool_]:
        """Return whether each row is dead."""
        if not self.dead_count:
            return np.zeros(len(rows), np.bool_)
        bit = np.left_shift(1, rows & 7).astype(np.uint8)
        return np.asarray(self.bits[rows >> 3] & bit, np.bool_)

    @property
    def live_rows(self) -> Rows:
        """Rows that are live, ascending."""
        if not self.dead_count:
            return np.arange(self.row_count)
        return np.flatnonzero(
            np.unpackbits(self.bits, count=self.row_count, bitorder="little") == 0
        )

    def rows_since(self, earlier: Tombstones) -> Rows:
        """Return the rows that are dead here and were live in `earlier`, ascending."""
        if not self.dead_count:
            return np.empty(0, np.int64)
        new_bits = self.bits & ~earlier.bits if earlier.dead_count else self.bits
        return np.flatnonzero(np.unpackbits(new_bits, count=self.row_count, bitorder="little"))


def encode_tombstones(by_segment: Mapping[str, Tombstones]) -> EncodedFile | None:
    """Return the file with the tombstones of all segments; None if no row is dead.

    The keys of `by_segment` are the names of segment files.
    """
    arrays: dict[str, NDArray[Any]] = {
        name: tombstones.bits for name, tombstones in by_segment.items() if tombstones.dead_count
    }
    return encode_arrays(arrays, {"kind": _KIND}) if arrays else None


def read_tombstones(file: MappedArrays, segment: str, row_count: int) -> Tombstones:
    """Return the tombstones of the segment file `segment`, which has `row_count` subscriptions.

    Raises:
        StoreError: if the file does not contain tombstones, or they do not fit the segment.
    """
    if file.meta.get("kind") != _KIND:
        raise StoreError(
            f"file {file.sha256} contains {file.meta.get('kind')}, not tombstones: "
            "create the store again"
        )
    if segment not in file.arrays:
        return Tombstones.empty(row_count)
    bits = file.arrays[segment]
    if bits.dtype != np.uint8 or bits.shape != (-(-row_count // 8),):
        raise StoreError(
            f"the tombstones in file {file.sha256} do not fit segment {segment}: create the store "
            "again"
        )
    return Tombstones.from_bits(row_count, bits)
