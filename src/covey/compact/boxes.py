"""Regions as boxes of codes, exactly, within one batch.

Each scalar attribute that is constrained is an axis. What a box cannot say (lists, tags, balls,
null beside an interval that starts later) is a number, its *rest*: regions of the same rest have
the same such constraints, 0 stands for none. A region is what its box and its rest have in common,
so one whose box is within another's is covered by it if the other's rest is 0 or the same.

Cost: 8 bytes per region and axis; some microseconds for each region that has a rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey.compact.axes import NULL, Axis, is_odd
from covey.geometry import Regions
from covey.geometry.balls import Balls
from covey.geometry.regions import Batch, Constraints
from covey.geometry.scalars import Scalars
from covey.space import Events
from covey.space.events import ScalarColumn

__all__ = ["Boxes"]

Codes = NDArray[np.int32]
Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Boxes:
    """n boxes in d axes: box i has the codes from `lower[i]` to `upper[i]`, both included."""

    axes: tuple[Axis, ...]
    lower: Codes
    upper: Codes
    rest: Codes

    @classmethod
    def of(cls, regions: Regions) -> Boxes:
        """The boxes of all regions of a batch, by their row numbers."""
        scalars = {n: c for n, c in regions.constraints.items() if isinstance(c.batch, Scalars)}
        axes = tuple(
            Axis.of(name, regions.space[name].type, given.batch)  # type: ignore[arg-type]
            for name, given in scalars.items()
        )
        lower = np.full((len(regions), len(axes)), NULL, np.int32)
        upper = np.empty((len(regions), len(axes)), np.int32)
        for k, (axis, given) in enumerate(zip(axes, scalars.values(), strict=True)):
            assert isinstance(given.batch, Scalars)
            upper[:, k] = axis.top
            lower[given.rows, k], upper[given.rows, k] = axis.intervals(given.batch)
        return cls(axes, lower, upper, _rests(regions))

    def __len__(self) -> int:
        return len(self.rest)

    def take(self, rows: Rows) -> Boxes:
        """The given boxes in the given order."""
        return Boxes(self.axes, self.lower[rows], self.upper[rows], self.rest[rows])

    def points(self, events: Events) -> Codes:
        """Events as rows of codes: a box contains an event's row if its region may contain it."""
        codes = np.empty((len(events), len(self.axes)), np.int32)
        for k, axis in enumerate(self.axes):
            column = events[axis.name]
            assert isinstance(column, ScalarColumn)
            codes[:, k] = axis.of_events(column)
        return codes

    def regions(self, like: Regions, rows: Rows, lower: Codes, upper: Codes) -> Regions:
        """Regions with new boxes, each with the rest that `like` has in one of its rows.

        Intervals begin and end at ends of the batch that the codes are from.
        """
        taken = like.take(rows)
        constraints = dict(taken.constraints)
        for k, axis in enumerate(self.axes):
            given = like.constraints[axis.name].batch
            assert isinstance(given, Scalars)
            batch = axis.constraints(lower[:, k], upper[:, k], given)
            if axis.name in taken.constraints:
                batch = _with_rest(batch, taken.constraints[axis.name])
            kept = np.flatnonzero(~batch.is_everything)
            constraints[axis.name] = Constraints(kept, batch.take(kept))
        return Regions(like.space, len(rows), constraints)


def _with_rest(batch: Scalars, given: Constraints) -> Scalars:
    """Intervals, but for rows where what was given is none."""
    assert isinstance(given.batch, Scalars)
    odd = np.flatnonzero(is_odd(given.batch))
    at = np.arange(len(batch))
    at[given.rows[odd]] = len(batch) + np.arange(len(odd))
    return Scalars.concat([batch, given.batch.take(odd)]).take(at)


def _rests(regions: Regions) -> Codes:
    """A number for what boxes cannot say of each region."""
    numbers = np.zeros(len(regions), np.int32)
    known: dict[Any, int] = {}
    for name, given in regions.constraints.items():
        odd = np.arange(len(given.rows))
        if isinstance(given.batch, Scalars):
            odd = np.flatnonzero(is_odd(given.batch))
        rows = given.rows[odd]
        before = numbers[rows].tolist()
        spelled = _spelled(given.batch, odd)
        numbers[rows] = [
            known.setdefault((name, *both), len(known) + 1)
            for both in zip(before, spelled, strict=True)
        ]
    return numbers


def _spelled(batch: Batch, rows: Rows) -> Iterator[Any]:
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
