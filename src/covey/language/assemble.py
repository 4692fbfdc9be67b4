"""Constraints of many conjuncts put together to regions."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey.geometry import Regions
from covey.geometry.regions import Batch, Constraints
from covey.language.atoms import Atom, joined
from covey.language.slots import Slots
from covey.space import Space

__all__ = ["Assembly"]

Rows = NDArray[np.int64]


class Assembly:
    """Regions in the making. Text i has region i to begin with; `further` gives texts more."""

    def __init__(self, texts: int) -> None:
        self._texts = texts
        self._owners = [np.arange(texts)]
        self._count = texts
        self._pieces: dict[str, list[tuple[Rows, Batch]]] = {}

    def further(self, texts: Rows) -> Rows:
        """New regions for these texts, one each: for texts that are a union of several."""
        self._owners.append(texts)
        self._count += len(texts)
        return np.arange(self._count - len(texts), self._count)

    def add(self, conjunction: tuple[Atom, ...], slots: Slots, regions: Rows) -> None:
        """Lets the given regions satisfy a conjunction, its literals filled in."""
        by_attribute: dict[str, list[Atom]] = {}
        for atom in conjunction:
            by_attribute.setdefault(atom.attribute.name, []).append(atom)
        for name, atoms in by_attribute.items():
            self._pieces.setdefault(name, []).append((regions, joined(atoms, slots)))

    def regions(
        self, space: Space, redone: Collection[int], rejected: Collection[int]
    ) -> tuple[Regions, Rows]:
        """The regions in the order of their texts, and the text of each.

        The first region of texts in `redone` does not count: they have further ones.
        """
        constraints = {name: _combined(pieces) for name, pieces in self._pieces.items()}
        regions, kept = Regions.of(space, self._count, constraints)
        owners = np.concatenate(self._owners)[kept]
        valid = ~np.isin(owners, list(rejected)) & ~(
            (kept < self._texts) & np.isin(kept, list(redone))
        )
        order = np.flatnonzero(valid)
        order = order[np.argsort(owners[order], kind="stable")]
        if len(order) == len(owners) and (np.diff(order) > 0).all():
            return regions, owners
        return regions.take(order), owners[order]


def _combined(pieces: list[tuple[Rows, Batch]]) -> Constraints:
    """The constraints of all pieces by region; what constrains a region twice is intersected."""
    rows = np.concatenate([regions for regions, _ in pieces])
    batches: Any = [batch for _, batch in pieces]
    batch: Any = type(batches[0]).concat(batches)
    order = np.argsort(rows, kind="stable")
    rows = rows[order]
    while (repeated := np.flatnonzero(np.r_[False, rows[1:] == rows[:-1]])).size:
        # One of each run of repeats at a time: the last, met with the one before it.
        last = repeated[~np.isin(repeated + 1, repeated)]
        met = batch.take(order[last - 1]).intersect(batch.take(order[last]))
        size = len(batch)
        batch = type(batch).concat([batch, met])
        order[last - 1] = size + np.arange(len(last))
        order, rows = np.delete(order, last), np.delete(rows, last)
    return Constraints(rows, batch.take(order))
