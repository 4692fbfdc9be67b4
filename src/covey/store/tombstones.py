"""Subscriptions of a segment that no longer count, because a later change removed or replaced them.

A bit each. All tombstones of a version are one file, so that a batch of changes writes two files
(its segment and this) however many segments it reaches into.

Cost: a bit per stored subscription in every version, 1.25 MB at ten million.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey.errors import StoreError
from covey.store.arrays import Arrays, Packed, pack

__all__ = ["Tombstones", "pack_tombstones", "read_tombstones"]

Bits = NDArray[np.uint8]
Rows = NDArray[np.int64]
AnyRows = NDArray[np.integer[Any]]  # of pairs, as an index numbers them

_KIND = "tombstones"


@dataclass(frozen=True, slots=True)
class Tombstones:
    """Which of `count` rows are dead; without any, `bits` is empty.

    >>> two = Tombstones.none(10).with_rows(np.array([3, 7]))
    >>> two.dead, two.holds(np.array([2, 3])).tolist()
    (2, [False, True])
    """

    count: int
    dead: int
    bits: Bits

    @classmethod
    def none(cls, count: int) -> Tombstones:
        """All rows are alive."""
        return cls(count, 0, np.empty(0, np.uint8))

    @classmethod
    def of_bits(cls, count: int, bits: Bits) -> Tombstones:
        """From bits, the lowest of each byte first."""
        return cls(count, int(np.bitwise_count(bits).sum(dtype=np.int64)), bits)

    def with_rows(self, rows: Rows) -> Tombstones:
        """These and others; nothing here changes."""
        if not len(rows):
            return self
        bits = self.bits.copy() if self.dead else np.zeros(-(-self.count // 8), np.uint8)
        np.bitwise_or.at(bits, rows >> 3, np.left_shift(1, rows & 7).astype(np.uint8))
        return Tombstones.of_bits(self.count, bits)

    def with_bits(self, bits: Bits) -> Tombstones:
        """These and others, a bit for each row."""
        return Tombstones.of_bits(self.count, self.bits | bits if self.dead else bits)

    def holds(self, rows: AnyRows) -> NDArray[np.bool_]:
        """Whether each row is dead."""
        if not self.dead:
            return np.zeros(len(rows), np.bool_)
        bit = np.left_shift(1, rows & 7).astype(np.uint8)
        return np.asarray(self.bits[rows >> 3] & bit, np.bool_)

    @property
    def live_rows(self) -> Rows:
        """The rows that still count, ascending."""
        if not self.dead:
            return np.arange(self.count)
        return np.flatnonzero(np.unpackbits(self.bits, count=self.count, bitorder="little") == 0)

    def since(self, earlier: Tombstones) -> Rows:
        """The rows that died after `earlier`, ascending."""
        if not self.dead:
            return np.empty(0, np.int64)
        new = self.bits & ~earlier.bits if earlier.dead else self.bits
        return np.flatnonzero(np.unpackbits(new, count=self.count, bitorder="little"))


def pack_tombstones(by_segment: Mapping[str, Tombstones]) -> Packed | None:
    """The file of all tombstones of a version, by the names of their segments; None if none."""
    arrays: dict[str, NDArray[Any]] = {
        name: stones.bits for name, stones in by_segment.items() if stones.dead
    }
    return pack(arrays, {"kind": _KIND}) if arrays else None


def read_tombstones(file: Arrays, segment: str, count: int) -> Tombstones:
    """The tombstones of one segment with `count` subscriptions."""
    if file.meta.get("kind") != _KIND:
        raise StoreError(f"{file.sha256} holds {file.meta.get('kind')}, not tombstones")
    if segment not in file.arrays:
        return Tombstones.none(count)
    bits = file.arrays[segment]
    if bits.dtype != np.uint8 or bits.shape != (-(-count // 8),):
        raise StoreError(f"the tombstones {file.sha256} do not fit segment {segment}")
    return Tombstones.of_bits(count, bits)
