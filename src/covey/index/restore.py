"""Regions again, from what a segment keeps of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey.geometry import Regions
from covey.geometry.regions import Constraints
from covey.index.near import Near
from covey.index.parts import Parts
from covey.index.rest import Rest
from covey.space import Space

__all__ = ["regions_at"]

Ints = NDArray[np.int64]


def regions_at(space: Space, parts: Parts, places: Any) -> tuple[Regions, Ints]:
    """The regions at some places, each once, and which of them is at each place."""
    distinct, at = np.unique(places, return_inverse=True)
    constraints: dict[str, Constraints] = {}
    for k, column in enumerate(parts.columns):
        batch = parts.boxes.constraints(k, column, distinct)
        rows = np.flatnonzero(~batch.is_everything)
        constraints[column.name] = Constraints(rows, column.originals(batch.take(rows)))
    regions = Regions(space, len(distinct), constraints)
    unsaid: tuple[Rest | Near, ...] = (*parts.rest, *parts.near)
    for part in unsaid:
        regions = _replaced(regions, part.name, part.originals(distinct))
    return regions, at


def _replaced(regions: Regions, name: str, by: Constraints) -> Regions:
    """Regions with the constraints of `by` where it has some."""
    batch: Any = by.batch
    rows = by.rows
    if name in regions.constraints:
        given = regions.constraints[name]
        others = np.flatnonzero(~np.isin(given.rows, rows))
        batch = type(batch).concat([given.batch.take(others), batch])
        rows = np.concatenate([given.rows[others], rows])
        order = np.argsort(rows)
        rows, batch = rows[order], batch.take(order)
    constraints = {**regions.constraints, name: Constraints(rows, batch)}
    return Regions(regions.space, regions.count, constraints)
