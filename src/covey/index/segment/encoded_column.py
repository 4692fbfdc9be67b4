"""Encoding of one scalar attribute: keys of any type as integers, and integers as 16-bit codes.

The codes of integers are relative to a codebook. Its boundaries are at most 16,000 ends of stored
intervals. The code of a key is even if the key equals a boundary, and odd otherwise. So most
comparisons need only codes. Keys themselves are compared only if a key and an end of an interval
lie between the same two boundaries. Null has the lowest code, so that "null or at most 5" is an
interval of codes.

Cost: a few nanoseconds per key, 8 bytes per boundary; for texts and long decimals, that of
`covey.index.segment.text_ranks` as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey.geometry.scalars import ALL, Scalars
from covey.index.kernels.bits import LAST
from covey.index.kernels.key_codes import divide_cells, encode_ends, encode_keys, write_guide
from covey.index.segment.text_ranks import TextRanks, pack_values, unpack_values
from covey.space.events import ScalarColumn
from covey.space.keys import Domain

__all__ = ["LAST", "MAX_BOUNDARIES", "NULL", "UNBOUNDED", "Codebook", "EncodedColumn"]

Codes = NDArray[np.uint16]
Ints = NDArray[np.int64]

NULL = 0
"""Code of null."""
UNBOUNDED = 2
"""Code of a lower end that is the lowest key of the domain."""
_FIRST_BOUNDARY = 4
MAX_BOUNDARIES = 16_000
"""Largest number of boundaries of a codebook."""
_CELL_BITS = 12  # the guide has up to 2^12 cells
_MAX_SEARCH_STEPS = 4  # steps of a branch-free binary search


@dataclass(frozen=True, slots=True)
class Codebook:
    """The boundaries of one attribute, with a guide for fast search.

    The guide divides the range of boundaries into cells of equal width, and each cell into parts.
    Cells with more boundaries have more parts, because the keys of floats are dense in a few
    ranges. Within a part, a binary search finds the code of a key.

    Args:
        boundaries: the boundaries, at least one, ascending and distinct.
        shift: a cell has 2^shift keys.
        cells: the number of the first part of each cell.
        shifts: a part of cell i has 2^shifts[i] keys.
        guide: the number of boundaries before each part, and then the number of the last boundary.
        search_steps: number of steps of the binary search that are computed without a branch.
    """

    boundaries: Ints
    shift: int
    cells: NDArray[np.uint32]
    shifts: NDArray[np.uint8]
    guide: NDArray[np.uint16]
    search_steps: int

    @classmethod
    def from_scalars(cls, batch: Scalars) -> Codebook:
        """Return a codebook whose boundaries are the distinct ends of intervals.

        If there are more than 16,000 distinct ends, at most 16,000 of them are chosen, so that
        about equal numbers of ends lie between neighbouring boundaries.
        """
        lower, upper = batch.lower, batch.upper
        ends = np.concatenate([lower[lower != batch.domain.low], upper[upper != batch.domain.high]])
        ends.sort()
        is_new = np.r_[True, ends[1:] != ends[:-1]][: len(ends)]
        if np.count_nonzero(is_new) > MAX_BOUNDARIES:
            boundaries = ends[np.linspace(0, len(ends) - 1, MAX_BOUNDARIES).astype(np.int64)]
            return cls.from_boundaries(boundaries[np.r_[True, boundaries[1:] != boundaries[:-1]]])
        return cls.from_boundaries(ends[is_new] if len(ends) else np.zeros(1, np.int64))

    @classmethod
    def from_boundaries(cls, boundaries: Ints) -> Codebook:
        """Return a codebook with these boundaries: at least one, ascending and distinct."""
        spread = int(boundaries[-1]) - int(boundaries[0])
        shift = max(0, spread.bit_length() - _CELL_BITS)
        cells = np.zeros((spread >> shift) + 1, np.uint32)
        shifts = np.empty(len(cells), np.uint8)
        guide = np.empty(divide_cells(boundaries, shift, cells, shifts) + 1, np.uint16)
        max_part_size = write_guide(boundaries, shift, cells, shifts, guide)
        return cls(
            boundaries,
            shift,
            cells,
            shifts,
            guide,
            min(_MAX_SEARCH_STEPS, max_part_size.bit_length()),
        )

    def write_codes(self, keys: Ints, valid: NDArray[np.bool_], codes: Codes) -> None:
        """Write the code of each key to `codes`; a key that is not valid gets the code of null."""
        encode_keys(
            keys, valid, self.boundaries, self.shift, self.cells, self.shifts, self.guide,
            self.search_steps, codes,
        )  # fmt: skip

    def encode_intervals(self, batch: Scalars) -> tuple[Codes, Codes, NDArray[np.bool_]]:
        """Return the lowest and the highest code of each constraint, and whether it is exact.

        A constraint is exact if a box can express it: it has no list, and it admits null only if
        its interval has no lower end or is empty. Otherwise it is a residual constraint.
        """
        low, high = np.empty(len(batch), np.uint16), np.empty(len(batch), np.uint16)
        self.write_intervals(batch, np.arange(len(batch)), low, high)
        unbounded, no_value = batch.lower == batch.domain.low, batch.lower > batch.upper
        return low, high, (batch.listed == ALL) & ~(batch.nulls & ~unbounded & ~no_value)

    def write_intervals(
        self, batch: Scalars, rows: Ints, low_codes: Codes, high_codes: Codes
    ) -> None:
        """Write the lowest and the highest code that each constraint admits.

        The codes of constraint i are written to `low_codes[rows[i]]` and `high_codes[rows[i]]`.
        """
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
        """Return the boundary of each even code.

        For odd codes, and for those of null and of unbounded ends, the result is arbitrary.
        """
        boundary_rows = (codes.astype(np.int64) - _FIRST_BOUNDARY) >> 1
        keys: Ints = self.boundaries[np.clip(boundary_rows, 0, len(self.boundaries) - 1)]
        return keys


@dataclass(frozen=True, slots=True)
class EncodedColumn:
    """Encoding of the keys of one scalar attribute.

    Keys that are integers remain unchanged; texts and long decimals are replaced by their ranks.
    `ranks` is None for keys that are integers. `domain` is the domain of the resulting integers,
    and `codebook` encodes them.
    """

    name: str
    domain: Domain
    ranks: TextRanks | None
    codebook: Codebook

    @classmethod
    def from_scalars(cls, name: str, batch: Scalars) -> EncodedColumn:
        """Return an encoding whose boundaries are ends of the constraints in `batch`."""
        ranks = TextRanks.from_scalars(batch) if batch.domain.dtype == object else None
        domain = batch.domain if ranks is None else ranks.domain
        integers = batch if ranks is None else ranks.encode_constraints(batch)
        return cls(name, domain, ranks, Codebook.from_scalars(integers))

    @classmethod
    def from_arrays(
        cls, name: str, original_domain: Domain, arrays: Mapping[str, NDArray[Any]]
    ) -> EncodedColumn:
        """Return the encoding that `to_arrays` turned into arrays.

        `original_domain` is the domain of the keys.
        """
        codebook = Codebook.from_boundaries(arrays["boundaries"])
        if "values" not in arrays:
            return cls(name, original_domain, None, codebook)
        stored_values = unpack_values(arrays["values"], arrays["value_starts"], original_domain)
        ranks = TextRanks.from_values(
            original_domain, stored_values, is_ordered=bool(arrays["is_ordered"][0])
        )
        return cls(name, ranks.domain, ranks, codebook)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the encoding as named arrays, without its name and the domain of the keys."""
        arrays: dict[str, NDArray[Any]] = {"boundaries": self.codebook.boundaries}
        if self.ranks is not None:
            arrays["values"], arrays["value_starts"] = pack_values(self.ranks.stored_values)
            arrays["is_ordered"] = np.array([self.ranks.is_ordered], np.uint8)
        return arrays

    def encode_constraints(self, batch: Scalars) -> Scalars:
        """Return the constraints with each key replaced by its integer."""
        return batch if self.ranks is None else self.ranks.encode_constraints(batch)

    def decode_constraints(self, batch: Scalars) -> Scalars:
        """Return the constraints with each integer replaced by its key."""
        return batch if self.ranks is None else self.ranks.decode_constraints(batch)

    def encode_events(self, column: ScalarColumn) -> Ints:
        """Return the integer of each event; the value for null is arbitrary."""
        if self.ranks is None:
            return column.keys
        if column.texts is None:
            return self.ranks.encode_events(column.keys)
        return self.ranks.encode_events(column.texts.distinct_values[:-1])[column.texts.codes]
