"""Builder of regions from the constraints of many conjuncts."""

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
    """Regions under construction.

    At first, region i belongs to text i. `add_regions` adds further regions to texts.
    """

    def __init__(self, text_count: int) -> None:
        self._text_count = text_count
        self._text_rows = [np.arange(text_count)]
        self._region_count = text_count
        self._pieces: dict[str, list[tuple[Rows, ConstraintBatch]]] = {}

    def add_regions(self, text_rows: Rows) -> Rows:
        """Add one region to each of the given texts and return the rows of the new regions.

        If texts are a union of several conjunctions, call this method once for each conjunction.
        """
        self._text_rows.append(text_rows)
        self._region_count += len(text_rows)
        return np.arange(self._region_count - len(text_rows), self._region_count)

    def add_conjunction(
        self, conjunction: tuple[Atom, ...], slots: LiteralColumns, region_rows: Rows
    ) -> None:
        """Add the constraints of a conjunction to regions.

        Args:
            conjunction: atoms; their literals are filled in from `slots`.
            slots: the literals, one row per region.
            region_rows: the rows of the regions.
        """
        by_attribute: dict[str, list[Atom]] = {}
        for atom in conjunction:
            by_attribute.setdefault(atom.attribute.name, []).append(atom)
        for name, atoms in by_attribute.items():
            self._pieces.setdefault(name, []).append((region_rows, intersect_atoms(atoms, slots)))

    def build_regions(
        self, space: Space, replaced_rows: Collection[int], rejected_rows: Collection[int]
    ) -> tuple[Regions, Rows]:
        """Return the regions in the order of their texts, and the row of each region's text.

        Args:
            space: the space of the regions.
            replaced_rows: rows of texts whose first region is dropped, because the regions that
                `add_regions` has added replace it.
            rejected_rows: rows of texts whose regions are all dropped.
        """
        constraints = {name: _combine_pieces(pieces) for name, pieces in self._pieces.items()}
        regions, region_rows = Regions.from_constraints(space, self._region_count, constraints)
        text_rows = np.concatenate(self._text_rows)[region_rows]
        is_valid = ~np.isin(text_rows, list(rejected_rows)) & ~(
            (region_rows < self._text_count) & np.isin(region_rows, list(replaced_rows))
        )
        order = np.flatnonzero(is_valid)
        order = order[np.argsort(text_rows[order], kind="stable")]
        if len(order) == len(text_rows) and (np.diff(order) > 0).all():
            return regions, text_rows
        return regions.take(order), text_rows[order]


def _combine_pieces(pieces: list[tuple[Rows, ConstraintBatch]]) -> Constraints:
    """Return for each region that occurs in a piece the intersection of its constraints.

    Each piece consists of rows of regions, and of a batch with their constraints on one attribute.
    A region may occur in several pieces.
    """
    rows = np.concatenate([regions for regions, _ in pieces])
    batches: Any = [batch for _, batch in pieces]
    batch: Any = type(batches[0]).concat(batches)
    order = np.argsort(rows, kind="stable")
    rows = rows[order]
    batch = batch.take(order)
    while (starts := np.r_[True, rows[1:] != rows[:-1]]).sum() < len(rows):
        # Intersect each run of equal rows in pairs: a running intersection would copy a growing
        # list each time.
        indices = np.arange(len(rows))
        position_in_run = indices - np.maximum.accumulate(np.where(starts, indices, 0))
        second = np.flatnonzero(position_in_run % 2 == 1)
        intersections = batch.take(second - 1).intersect(batch.take(second))
        remaining = np.delete(indices, second)
        sources = indices.copy()
        sources[second - 1] = len(rows) + np.arange(len(second))
        batch = type(batch).concat([batch, intersections]).take(sources[remaining])
        rows = rows[remaining]
    return Constraints(rows, batch)
