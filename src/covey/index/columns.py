"""A scalar attribute as the index sees it: keys of any type as integers, and their codes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey.geometry.scalars import Scalars
from covey.index.codes import Codebook
from covey.index.ranks import Ranks, packed, unpacked
from covey.space.events import ScalarColumn
from covey.space.keys import Domain

__all__ = ["Column"]

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Column:
    """One attribute: its integers (keys as they are, or ranks of them), and its codes."""

    name: str
    domain: Domain
    ranks: Ranks | None
    codebook: Codebook

    @classmethod
    def of(cls, name: str, batch: Scalars) -> Column:
        """A column for what is stored of an attribute."""
        ranks = Ranks.of(batch) if batch.domain.dtype == object else None
        whole = batch.domain if ranks is None else ranks.domain
        integers = batch if ranks is None else ranks.ranked(batch)
        return cls(name, whole, ranks, Codebook.of(integers))

    @classmethod
    def from_arrays(cls, name: str, original: Domain, arrays: Mapping[str, Any]) -> Column:
        """A column from what `arrays` gave, of an attribute whose keys are `original`."""
        codebook = Codebook.from_boundaries(arrays["boundaries"])
        if "known" not in arrays:
            return cls(name, original, None, codebook)
        known = unpacked(arrays["known"], arrays["known_starts"], original)
        ranks = Ranks.from_known(original, known, bool(arrays["ordered"][0]))
        return cls(name, ranks.domain, ranks, codebook)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that it is made of, but for its name and type."""
        arrays: dict[str, NDArray[Any]] = {"boundaries": self.codebook.boundaries}
        if self.ranks is not None:
            arrays["known"], arrays["known_starts"] = packed(self.ranks.known)
            arrays["ordered"] = np.array([self.ranks.ordered], np.uint8)
        return arrays

    def integers(self, batch: Scalars) -> Scalars:
        """Constraints on integers, from constraints on keys."""
        return batch if self.ranks is None else self.ranks.ranked(batch)

    def originals(self, batch: Scalars) -> Scalars:
        """Constraints on keys again."""
        return batch if self.ranks is None else self.ranks.restored(batch)

    def of_events(self, column: ScalarColumn) -> Ints:
        """The integers of events; of a null it says nothing."""
        if self.ranks is None:
            return column.keys
        if column.texts is None:
            return self.ranks.of_events(column.keys)
        return self.ranks.of_events(column.texts.distinct[:-1])[column.texts.of]
