"""Regions as boxes of codes, exactly, within one batch.

Each scalar attribute that is constrained is an axis. What a box cannot say (lists, tags, balls,
null beside an interval that starts later) is a number, its *residual id*: regions of the same id
have the same residual constraints, 0 stands for none. A region is what its box and its residual
constraints have in common, so one whose box is within another's is covered by it if the other's
residual id is 0 or the same.

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
    """n boxes in d axes: box i has the codes from `lower[i]` to `upper[i]`, both included."""

    axes: tuple[Axis, ...]
    lower: Codes
    upper: Codes
    residual_ids: Codes

    @classmethod
    def from_regions(cls, regions: Regions) -> RegionBoxes:
        """The boxes of all regions of a batch, by their row numbers."""
        scalars = {n: c for n, c in regions.constraints.items() if isinstance(c.batch, Scalars)}
        axes = tuple(
            Axis.from_constraints(name, regions.space[name].type, given.batch)  # type: ignore[arg-type]
            for name, given in scalars.items()
        )
        lower = np.full((len(regions), len(axes)), NULL_CODE, np.int32)
        upper = np.empty((len(regions), len(axes)), np.int32)
        for k, (axis, given) in enumerate(zip(axes, scalars.values(), strict=True)):
            assert isinstance(given.batch, Scalars)
            upper[:, k] = axis.max_code
            lower[given.rows, k], upper[given.rows, k] = axis.to_code_intervals(given.batch)
        return cls(axes, lower, upper, _assign_residual_ids(regions))

    def __len__(self) -> int:
        return len(self.residual_ids)

    def take(self, rows: Rows) -> RegionBoxes:
        """The given boxes in the given order."""
        return RegionBoxes(self.axes, self.lower[rows], self.upper[rows], self.residual_ids[rows])

    def encode_events(self, events: Events) -> Codes:
        """Events as rows of codes: a box contains an event's row if its region may contain it."""
        codes = np.empty((len(events), len(self.axes)), np.int32)
        for k, axis in enumerate(self.axes):
            column = events[axis.name]
            assert isinstance(column, ScalarColumn)
            codes[:, k] = axis.encode_events(column)
        return codes

    def to_regions(self, source: Regions, rows: Rows, lower: Codes, upper: Codes) -> Regions:
        """Regions with new boxes, each with the residual constraints of one row of `source`.

        Intervals begin and end at ends of the batch that the codes are from.
        """
        taken = source.take(rows)
        constraints = dict(taken.constraints)
        for k, axis in enumerate(self.axes):
            given = source.constraints[axis.name].batch
            assert isinstance(given, Scalars)
            batch = axis.to_constraints(lower[:, k], upper[:, k], given)
            if axis.name in taken.constraints:
                batch = _restore_residuals(batch, taken.constraints[axis.name])
            kept = np.flatnonzero(~batch.is_unconstrained)
            constraints[axis.name] = Constraints(kept, batch.take(kept))
        return Regions(source.space, len(rows), constraints)


def _restore_residuals(batch: Scalars, original: Constraints) -> Scalars:
    """Intervals, but for rows where what was given is none."""
    assert isinstance(original.batch, Scalars)
    odd = np.flatnonzero(is_residual(original.batch))
    at = np.arange(len(batch))
    at[original.rows[odd]] = len(batch) + np.arange(len(odd))
    return Scalars.concat([batch, original.batch.take(odd)]).take(at)


def _assign_residual_ids(regions: Regions) -> Codes:
    """A number for what boxes cannot say of each region."""
    numbers = np.zeros(len(regions), np.int32)
    known: dict[Any, int] = {}
    for name, given in regions.constraints.items():
        odd = np.arange(len(given.rows))
        if isinstance(given.batch, Scalars):
            odd = np.flatnonzero(is_residual(given.batch))
        rows = given.rows[odd]
        before = numbers[rows].tolist()
        spelled = _constraint_keys(given.batch, odd)
        numbers[rows] = [
            known.setdefault((name, *both), len(known) + 1)
            for both in zip(before, spelled, strict=True)
        ]
    return numbers


def _constraint_keys(batch: ConstraintBatch, rows: Rows) -> Iterator[Any]:
    """Constraints as values that are equal where they are."""
    for i in rows.tolist():
        if isinstance(batch, Scalars):
            lower, upper, listed, keys = batch.row(i)
            yield lower, upper, listed, tuple(keys), bool(batch.nulls[i])
        elif isinstance(batch, Balls):
            states, balls = batch.row(i)
            yield states, tuple(balls)
        else:
            yield batch.row(i)
