"""Encoding of one scalar attribute: keys of any type as integers, and integers as codes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey.geometry.scalars import Scalars
from covey.index.segment.codebook import Codebook
from covey.index.segment.text_ranks import TextRanks, pack_values, unpack_values
from covey.space.events import ScalarColumn
from covey.space.keys import Domain

__all__ = ["EncodedColumn"]

Ints = NDArray[np.int64]


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
