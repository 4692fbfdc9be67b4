"""How regions and events project: all numbers as one box, the balls of a vector as one ball."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey.geometry import Regions
from covey.geometry.balls import Balls
from covey.geometry.distances import Metric, relative_error
from covey.geometry.projections import Directions, Ends, Floats
from covey.geometry.scalars import Scalars
from covey.space import Attribute, Events, Type
from covey.space.events import ScalarColumn, State, VectorColumn
from covey.space.keys import domain, key_float
from covey.space.ragged import Ragged
from covey.space.types import FLOAT

__all__ = ["Numbers", "Vectors", "is_number"]

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
_SAMPLE = 10_000
_TINY = 1e-20  # how far apart vectors may be whose float32 distance is 0


@dataclass(frozen=True, slots=True)
class Numbers:
    """How number attributes are taken as one box: in which units, on which directions.

    Null is no place in it: what admits null is unbounded, and so is an event that is null.
    """

    directions: Directions
    attributes: tuple[Attribute, ...]
    origins: tuple[float, ...]
    units: tuple[float, ...]

    @classmethod
    def of(cls, regions: Regions, attributes: Sequence[Attribute], draw: Directions) -> Numbers:
        """Units from the intervals of these regions."""
        usual = [_usual(regions.constraints[a.name].batch, a.type) for a in attributes]
        origins, units = zip(*usual, strict=True)
        return cls(draw, tuple(attributes), origins, units)

    def of_regions(self, regions: Regions) -> Ends:
        """The ends of regions."""
        shape = (len(self.attributes), len(regions))
        lower, upper = np.full(shape, -np.inf), np.full(shape, np.inf)
        for i, attribute in enumerate(self.attributes):
            if (given := regions.constraints.get(attribute.name)) is not None:
                assert isinstance(given.batch, Scalars)
                low, high = _corners(given.batch, attribute.type)
                lower[i, given.rows], upper[i, given.rows] = self._placed(i, low, high)
        return self.directions.boxes(lower.T, upper.T)

    def of_events(self, events: Events) -> Ends:
        """The ends of events, which are those of regions of size zero."""
        shape = (len(self.attributes), len(events))
        lower, upper = np.empty(shape), np.empty(shape)
        for i, attribute in enumerate(self.attributes):
            column = events[attribute.name]
            assert isinstance(column, ScalarColumn)
            point = Scalars.of(domain(attribute.type), column.keys, column.keys, ~column.valid)
            lower[i], upper[i] = self._placed(i, *_corners(point, attribute.type))
        return self.directions.boxes(lower.T, upper.T)

    def _placed(self, i: int, low: Floats, high: Floats) -> Ends:
        """Numbers in their units; none passes another."""
        with np.errstate(over="ignore"):
            origin, unit = self.origins[i], self.units[i]
            return (low - origin) / unit, (high - origin) / unit


@dataclass(frozen=True, slots=True)
class Vectors:
    """How the balls of a vector attribute are projected.

    The bounds are those of `covey.geometry.balls`: `covers` and `overlaps` there see a ball of
    radius r as up to r(1 + 2ε) + 2·1e-20 wide, ε the relative error of a float32 distance.
    """

    name: str
    directions: Directions

    def single(self, regions: Regions) -> Ints:
        """For each region the one ball that it is, or -1."""
        chosen = np.full(len(regions), -1)
        if (given := regions.constraints.get(self.name)) is not None:
            assert isinstance(given.batch, Balls)
            balls = given.batch.balls
            rows = np.flatnonzero((given.batch.states == State.VALUE) & (balls.lengths == 1))
            numbers = balls.values[balls.offsets[rows]]
            chosen[given.rows[rows]] = np.where(_is_ball(given.batch)[numbers], numbers, -1)
        return chosen

    def choices(self, regions: Regions) -> Ragged:
        """For each region the balls of which a cover may contain any, or -1."""
        chosen = self.single(regions)
        lists = Ragged(np.arange(len(regions) + 1), chosen)
        if (given := regions.constraints.get(self.name)) is None:
            return lists
        assert isinstance(given.batch, Balls)
        balls, good = given.batch.balls, _is_ball(given.batch)
        several = np.flatnonzero((given.batch.states == State.VALUE) & (balls.lengths > 1))
        if not len(several):
            return lists
        rows = [[number] for number in chosen.tolist()]
        for place in several.tolist():
            rows[given.rows[place]] = [b for b in balls.row(place).tolist() if good[b]] or [-1]
        return Ragged.of(rows, np.int64)

    def of_balls(self, regions: Regions, chosen: Ints, times: int) -> Ends:
        """The ends of balls by number, -1 for none: as they are, or widened so many times."""
        low, high = self._unbounded(len(chosen))
        if (rows := np.flatnonzero(chosen >= 0)).size:
            batch = regions.constraints[self.name].batch
            assert isinstance(batch, Balls)
            balls = chosen[rows]
            radii = key_float(batch.upper[balls], FLOAT).astype(np.float64)
            if times:
                wider = radii * (1 + 2 * relative_error(self.directions.dimensions)) + 4 * _TINY
                radii = np.where(batch.points[balls], 2 * _TINY, wider)
                low[rows], high[rows] = self.directions.outer_balls(
                    batch.centres[balls], radii, times
                )
            else:
                low[rows], high[rows] = self.directions.balls(batch.centres[balls], radii)
        return low, high

    def of_events(self, events: Events) -> Ends:
        """The ends of events; without a vector of numbers an event is unbounded."""
        column = events[self.name]
        assert isinstance(column, VectorColumn)
        low, high = self._unbounded(len(events))
        finite = np.isfinite(column.matrix).all(axis=1)
        rows = np.flatnonzero((column.states == State.VALUE) & finite)
        low[rows], high[rows] = self.directions.balls(column.matrix[rows], np.zeros(len(rows)))
        return low, high

    def _unbounded(self, count: int) -> Ends:
        shape = (len(self.directions), count)
        return np.full(shape, -np.inf).T, np.full(shape, np.inf).T


def _is_ball(batch: Balls) -> Bools:
    """Which balls lie within a radius of a place; a shell does too."""
    is_near = np.isfinite(key_float(batch.upper, FLOAT)) & np.isfinite(batch.centres).all(axis=1)
    ball: Bools = is_near & (batch.metrics == Metric.L2)
    return ball


def is_number(type_: Type) -> bool:
    """Whether values of a type are numbers to project; texts and long decimals are not."""
    return type_.is_scalar and domain(type_).dtype == np.int64


def _corners(batch: Scalars, type_: Type) -> Ends:
    """Both ends as numbers, unbounded where there is none or null is admitted."""
    low, high = (_floats(keys, type_) for keys in (batch.lower, batch.upper))
    free, both = batch.nulls, type_.name == "boolean"  # of two values each is an end
    low[free | (batch.lower == batch.domain.low) & (not both)] = -np.inf
    high[free | (batch.upper == batch.domain.high) & (not both)] = np.inf
    return low, high


def _floats(keys: Ints, type_: Type) -> Floats:
    """Numbers in the order of keys; NaN, which is the last, is as infinity."""
    if not type_.is_fractional:
        return keys.astype(np.float64)
    floats = key_float(keys, type_).astype(np.float64)
    floats[np.isnan(floats)] = np.inf
    return floats


def _usual(batch: Any, type_: Type) -> tuple[float, float]:
    """The middle of the ends of intervals, and their usual width; of points how they spread."""
    chosen = np.arange(0, len(batch), max(1, len(batch) // _SAMPLE))
    low, high = _corners(batch.take(chosen), type_)
    with np.errstate(over="ignore", invalid="ignore"):
        widths = (high - low)[np.isfinite(low) & np.isfinite(high)]
        ends = np.concatenate([low[np.isfinite(low)], high[np.isfinite(high)]])
        origin = float(np.median(ends)) if len(ends) else 0.0
        unit = float(np.median(widths)) if len(widths) else 0.0
        if not unit > 0 and len(ends):
            unit = float(np.ptp(ends))
    return origin, unit if 0 < unit < np.inf else 1.0
