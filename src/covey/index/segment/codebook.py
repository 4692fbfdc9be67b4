"""Keys as small codes, per set of stored regions: codes propose, original keys decide.

An attribute has a bounded table of boundaries, taken from the ends of the stored intervals. The
code of a key tells "equal to boundary i" (even) from "between two boundaries" (odd), so most
comparisons are settled on 16 bits; only a key and an end in one gap must look at the originals.
Null is the lowest code, so that "null or at most 5" is an interval too.

Cost: a few nanoseconds per key, 8 bytes per boundary.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from covey.geometry.scalars import ALL, Scalars
from covey.index.kernels.bits import LAST
from covey.index.kernels.key_codes import divide_cells, encode_ends, encode_keys, write_guide

__all__ = ["LAST", "MAX_BOUNDARIES", "NULL", "UNBOUNDED", "Codebook"]

Codes = NDArray[np.uint16]
Ints = NDArray[np.int64]

NULL = 0
"""The code of null."""
UNBOUNDED = 2
"""The code of a lower end that no key is below."""
_FIRST_BOUNDARY = 4
MAX_BOUNDARIES = 16_000
_CELL_BITS = 12
_MAX_SEARCH_STEPS = 4  # of a search that are always made


@dataclass(frozen=True, slots=True)
class Codebook:
    """The boundaries of one attribute, ascending and at least one, and a guide to find them by.

    The guide has cells of equal width, and cells in parts, the more the more boundaries are in it:
    floats crowd in a few of all keys. `search_steps` of a search find most keys within a part.
    """

    boundaries: Ints
    shift: int
    cells: NDArray[np.uint32]
    shifts: NDArray[np.uint8]
    guide: NDArray[np.uint16]
    search_steps: int

    @classmethod
    def from_scalars(cls, batch: Scalars) -> Codebook:
        """Boundaries from ends, all of them or equally many ends between any two."""
        lower, upper = batch.lower, batch.upper
        ends = np.concatenate([lower[lower != batch.domain.low], upper[upper != batch.domain.high]])
        ends.sort()
        new = np.r_[True, ends[1:] != ends[:-1]][: len(ends)]
        if np.count_nonzero(new) > MAX_BOUNDARIES:
            chosen = ends[np.linspace(0, len(ends) - 1, MAX_BOUNDARIES).astype(np.int64)]
            return cls.from_boundaries(chosen[np.r_[True, chosen[1:] != chosen[:-1]]])
        return cls.from_boundaries(ends[new] if len(ends) else np.zeros(1, np.int64))

    @classmethod
    def from_boundaries(cls, boundaries: Ints) -> Codebook:
        """A codebook of just these boundaries."""
        spread = int(boundaries[-1]) - int(boundaries[0])
        shift = max(0, spread.bit_length() - _CELL_BITS)
        cells = np.zeros((spread >> shift) + 1, np.uint32)
        shifts = np.empty(len(cells), np.uint8)
        guide = np.empty(divide_cells(boundaries, shift, cells, shifts) + 1, np.uint16)
        most = write_guide(boundaries, shift, cells, shifts, guide)
        return cls(
            boundaries, shift, cells, shifts, guide, min(_MAX_SEARCH_STEPS, most.bit_length())
        )

    def write_codes(self, keys: Ints, valid: NDArray[np.bool_], codes: Codes) -> None:
        """Writes the code of each key, and of null where not valid."""
        encode_keys(
            keys, valid, self.boundaries, self.shift, self.cells, self.shifts, self.guide,
            self.search_steps, codes,
        )  # fmt: skip

    def encode_intervals(self, batch: Scalars) -> tuple[Codes, Codes, NDArray[np.bool_]]:
        """The lowest and the highest code that each constraint admits, and if all between are.

        Where not, only the constraint itself can tell.
        """
        low, high = np.empty(len(batch), np.uint16), np.empty(len(batch), np.uint16)
        self.write_intervals(batch, np.arange(len(batch)), low, high)
        unbounded, no_value = batch.lower == batch.domain.low, batch.lower > batch.upper
        return low, high, (batch.listed == ALL) & ~(batch.nulls & ~unbounded & ~no_value)

    def write_intervals(
        self, batch: Scalars, rows: Ints, low_codes: Codes, high_codes: Codes
    ) -> None:
        """Writes, at their rows, the lowest and the highest code that constraints admit."""
        encode_ends(
            batch.lower,
            batch.upper,
            batch.nulls,
            batch.domain.low,
            batch.domain.high,
            self.boundaries,
            self.shift,
            self.cells,
            self.shifts,
            self.guide,
            self.search_steps,
            rows,
            low_codes,
            high_codes,
        )

    def decode_keys(self, codes: Codes) -> Ints:
        """The boundaries of even codes; what odd or special codes give means nothing."""
        places = (codes.astype(np.int64) - _FIRST_BOUNDARY) >> 1
        keys: Ints = self.boundaries[np.clip(places, 0, len(self.boundaries) - 1)]
        return keys
