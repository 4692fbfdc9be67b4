"""Regions as boxes of codes, exact within one batch.

Each scalar attribute that is constrained is an axis. A box cannot express lists, tags, balls, and
null together with an interval that does not start at the lowest value. Such constraints become a
number, the *residual id*: regions with the same residual id have the same residual constraints, and
a region with residual id 0 has none. A region is the intersection of its box and its residual
constraints. Therefore region a covers region b if the box of a contains the box of b, and the
residual id of a is 0 or that of b.

Cost: 8 bytes per region and axis; some microseconds for each region with residual constraints.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey.covering.axes import NULL_CODE, Axis, is_residual
from covey.geometry import Regions
from covey.geometry.balls import Balls
from covey.geometry.regions import ConstraintBatch, Constraints
from covey.geometry.scalars import Scalars
from covey.space import Events
from covey.space.events import ScalarColumn

__all__ = ["RegionBoxes"]

Codes = NDArray[np.int32]
Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class RegionBoxes:
    """Boxes of n regions on d axes: box i has the codes `lower[i]` to `upper[i]`, inclusive.

    `lower` and `upper` have n rows and d columns; `residual_ids` contains the residual id of each
    box.
    """

    axes: tuple[Axis, ...]
    lower: Codes
    upper: Codes
    residual_ids: Codes

    @classmethod
    def from_regions(cls, regions: Regions) -> RegionBoxes:
        """Return the boxes of all regions of a batch, in the order of regions."""
        scalars = {n: c for n, c in regions.constraints.items() if isinstance(c.batch, Scalars)}
        axes = tuple(
            Axis.from_constraints(name, regions.space[name].type, constraints.batch)  # type: ignore[arg-type]
            for name, constraints in scalars.items()
        )
        lower = np.full((len(regions), len(axes)), NULL_CODE, np.int32)
        upper = np.empty((len(regions), len(axes)), np.int32)
        for k, (axis, constraints) in enumerate(zip(axes, scalars.values(), strict=True)):
            assert isinstance(constraints.batch, Scalars)
            upper[:, k] = axis.max_code
            lower[constraints.rows, k], upper[constraints.rows, k] = axis.to_code_intervals(
                constraints.batch
            )
        return cls(axes, lower, upper, _assign_residual_ids(regions))

    def __len__(self) -> int:
        return len(self.residual_ids)

    def take(self, rows: Rows) -> RegionBoxes:
        """Return the boxes of these rows, in this order."""
        return RegionBoxes(self.axes, self.lower[rows], self.upper[rows], self.residual_ids[rows])

    def encode_events(self, events: Events) -> Codes:
        """Return the codes of events: a row for each event, a column for each axis.

        If a region contains an event, the box of the region contains the codes of the event.
        """
        codes = np.empty((len(events), len(self.axes)), np.int32)
        for k, axis in enumerate(self.axes):
            column = events[axis.name]
            assert isinstance(column, ScalarColumn)
            codes[:, k] = axis.encode_events(column)
        return codes

    def to_regions(self, source: Regions, rows: Rows, lower: Codes, upper: Codes) -> Regions:
        """Return regions with new boxes, each with the residual constraints of a row of `source`.

        Args:
            source: the batch for which the axes were built.
            rows: for each box the row of `source` whose residual constraints the region gets.
            lower: lower codes of the boxes: codes of interval ends of `source`, or of null.
            upper: upper codes of the boxes, of the same form as `lower`.
        """
        source_rows = source.take(rows)
        constraints = dict(source_rows.constraints)
        for k, axis in enumerate(self.axes):
            source_batch = source.constraints[axis.name].batch
            assert isinstance(source_batch, Scalars)
            batch = axis.to_constraints(lower[:, k], upper[:, k], source_batch)
            if axis.name in source_rows.constraints:
                batch = _restore_residuals(batch, source_rows.constraints[axis.name])
            constrained_rows = np.flatnonzero(~batch.is_unconstrained)
            constraints[axis.name] = Constraints(constrained_rows, batch.take(constrained_rows))
        return Regions(source.space, len(rows), constraints)


def _restore_residuals(batch: Scalars, original: Constraints) -> Scalars:
    """Return the constraints of `batch`, but the original constraints where these are residual."""
    assert isinstance(original.batch, Scalars)
    residual_rows = np.flatnonzero(is_residual(original.batch))
    batch_rows = np.arange(len(batch))
    batch_rows[original.rows[residual_rows]] = len(batch) + np.arange(len(residual_rows))
    return Scalars.concat([batch, original.batch.take(residual_rows)]).take(batch_rows)


def _assign_residual_ids(regions: Regions) -> Codes:
    """Return the residual id of each region; 0 if it has no residual constraint."""
    residual_ids = np.zeros(len(regions), np.int32)
    id_of_key: dict[Any, int] = {}
    for name, constraints in regions.constraints.items():
        residual_rows = np.arange(len(constraints.rows))
        if isinstance(constraints.batch, Scalars):
            residual_rows = np.flatnonzero(is_residual(constraints.batch))
        rows = constraints.rows[residual_rows]
        previous_ids = residual_ids[rows].tolist()
        keys = _constraint_keys(constraints.batch, residual_rows)
        residual_ids[rows] = [
            id_of_key.setdefault((name, *id_and_key), len(id_of_key) + 1)
            for id_and_key in zip(previous_ids, keys, strict=True)
        ]
    return residual_ids


def _constraint_keys(batch: ConstraintBatch, rows: Rows) -> Iterator[Any]:
    """Yield a hashable value for each constraint at `rows`; equal constraints have equal ones."""
    for i in rows.tolist():
        if isinstance(batch, Scalars):
            lower, upper, listed, keys = batch.row(i)
            yield lower, upper, listed, tuple(keys), bool(batch.nulls[i])
        elif isinstance(batch, Balls):
            states, balls = batch.row(i)
            yield states, tuple(balls)
        else:
            yield batch.row(i)
