"""Constraints of many conjuncts put together to regions."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey.geometry import Regions
from covey.geometry.regions import ConstraintBatch, Constraints
from covey.language.compile.atoms import Atom, intersect_atoms
from covey.language.values.literal_columns import LiteralColumns
from covey.space import Space

__all__ = ["RegionBuilder"]

Rows = NDArray[np.int64]


class RegionBuilder:
    """Regions in the making. Text i has region i to begin with; `add_regions` gives texts more."""

    def __init__(self, text_count: int) -> None:
        self._text_count = text_count
        self._text_rows = [np.arange(text_count)]
        self._region_count = text_count
        self._pieces: dict[str, list[tuple[Rows, ConstraintBatch]]] = {}

    def add_regions(self, text_rows: Rows) -> Rows:
        """New regions for these texts, one each: for texts that are a union of several."""
        self._text_rows.append(text_rows)
        self._region_count += len(text_rows)
        return np.arange(self._region_count - len(text_rows), self._region_count)

    def add_conjunction(
        self, conjunction: tuple[Atom, ...], slots: LiteralColumns, region_rows: Rows
    ) -> None:
        """Lets the given regions satisfy a conjunction, its literals filled in."""
        by_attribute: dict[str, list[Atom]] = {}
        for atom in conjunction:
            by_attribute.setdefault(atom.attribute.name, []).append(atom)
        for name, atoms in by_attribute.items():
            self._pieces.setdefault(name, []).append((region_rows, intersect_atoms(atoms, slots)))

    def build_regions(
        self, space: Space, replaced_rows: Collection[int], rejected_rows: Collection[int]
    ) -> tuple[Regions, Rows]:
        """The regions in the order of their texts, and the text of each.

        The first region of texts in `replaced_rows` does not count: they have further ones.
        """
        constraints = {name: _combine_pieces(pieces) for name, pieces in self._pieces.items()}
        regions, kept = Regions.from_constraints(space, self._region_count, constraints)
        owners = np.concatenate(self._text_rows)[kept]
        valid = ~np.isin(owners, list(rejected_rows)) & ~(
            (kept < self._text_count) & np.isin(kept, list(replaced_rows))
        )
        order = np.flatnonzero(valid)
        order = order[np.argsort(owners[order], kind="stable")]
        if len(order) == len(owners) and (np.diff(order) > 0).all():
            return regions, owners
        return regions.take(order), owners[order]


def _combine_pieces(pieces: list[tuple[Rows, ConstraintBatch]]) -> Constraints:
    """The constraints of all pieces by region; what constrains a region twice is intersected."""
    rows = np.concatenate([regions for regions, _ in pieces])
    batches: Any = [batch for _, batch in pieces]
    batch: Any = type(batches[0]).concat(batches)
    order = np.argsort(rows, kind="stable")
    rows = rows[order]
    batch = batch.take(order)
    while (starts := np.r_[True, rows[1:] != rows[:-1]]).sum() < len(rows):
        # Each run of repeats in pairs, as what many exclude by and by becomes long.
        places = np.arange(len(rows))
        in_run = places - np.maximum.accumulate(np.where(starts, places, 0))
        second = np.flatnonzero(in_run % 2 == 1)
        met = batch.take(second - 1).intersect(batch.take(second))
        kept = np.delete(places, second)
        sources = places.copy()
        sources[second - 1] = len(rows) + np.arange(len(second))
        batch = type(batch).concat([batch, met]).take(sources[kept])
        rows = rows[kept]
    return Constraints(rows, batch)
