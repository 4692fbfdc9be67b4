"""A scalar attribute as the index sees it: keys of any type as integers, and their codes."""

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
    """One attribute: its integers (keys as they are, or ranks of them), and its codes."""

    name: str
    domain: Domain
    ranks: TextRanks | None
    codebook: Codebook

    @classmethod
    def from_scalars(cls, name: str, batch: Scalars) -> EncodedColumn:
        """A column for what is stored of an attribute."""
        ranks = TextRanks.from_scalars(batch) if batch.domain.dtype == object else None
        whole = batch.domain if ranks is None else ranks.domain
        integers = batch if ranks is None else ranks.encode_constraints(batch)
        return cls(name, whole, ranks, Codebook.from_scalars(integers))

    @classmethod
    def from_arrays(
        cls, name: str, original_domain: Domain, arrays: Mapping[str, NDArray[Any]]
    ) -> EncodedColumn:
        """A column from what `to_arrays` gave, of an attribute with keys of `original_domain`."""
        codebook = Codebook.from_boundaries(arrays["boundaries"])
        if "known" not in arrays:
            return cls(name, original_domain, None, codebook)
        known = unpack_values(arrays["known"], arrays["known_starts"], original_domain)
        ranks = TextRanks.from_values(original_domain, known, is_ordered=bool(arrays["ordered"][0]))
        return cls(name, ranks.domain, ranks, codebook)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """All that it is made of, but for its name and type."""
        arrays: dict[str, NDArray[Any]] = {"boundaries": self.codebook.boundaries}
        if self.ranks is not None:
            arrays["known"], arrays["known_starts"] = pack_values(self.ranks.stored_values)
            arrays["ordered"] = np.array([self.ranks.is_ordered], np.uint8)
        return arrays

    def encode_constraints(self, batch: Scalars) -> Scalars:
        """Constraints on integers, from constraints on keys."""
        return batch if self.ranks is None else self.ranks.encode_constraints(batch)

    def decode_constraints(self, batch: Scalars) -> Scalars:
        """Constraints on keys again."""
        return batch if self.ranks is None else self.ranks.decode_constraints(batch)

    def encode_events(self, column: ScalarColumn) -> Ints:
        """The integers of events; of a null it says nothing."""
        if self.ranks is None:
            return column.keys
        if column.texts is None:
            return self.ranks.encode_events(column.keys)
        return self.ranks.encode_events(column.texts.distinct_values[:-1])[column.texts.codes]
