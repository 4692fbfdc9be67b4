"""How regions and events project: all numbers as one box, the balls of a vector as one ball.

Either is projected on directions of its own; the intervals are the attributes of a small box. Texts
and long decimals are attributes of it as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey.errors import InvalidArgumentError
from covey.geometry import Regions
from covey.geometry.balls import Balls
from covey.geometry.distances import Metric, relative_error_bound
from covey.geometry.projections import Directions, Ends
from covey.geometry.regions import Constraints
from covey.geometry.scalars import Scalars
from covey.index.segment.build.shared_codebooks import MAX_CACHED_REGIONS, SharedCodebooks
from covey.space import Attribute, Events, Space, Type
from covey.space.events import ValueState, VectorColumn
from covey.space.keys import decode_floats, encode_floats, key_domain
from covey.space.ragged_array import RaggedArray
from covey.space.types import DOUBLE, FLOAT

__all__ = ["ProjectionMapping"]

Floats = NDArray[np.float64]

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
_DIRECTION_KINDS = {
    "orthonormal": Directions.orthonormal,
    "signs": Directions.random_signs,
    "sparse": Directions.sparse,
}
_DEFAULT_DIRECTIONS = 4  # directions: so many codes a segment compares at once
_SAMPLE = 10_000
_TINY = 1e-20  # how far apart vectors may be whose float32 distance is 0


@dataclass(frozen=True, slots=True)
class ProjectionMapping:
    """What regions are projected by. The last query is cached: many indexes may be given it."""

    numeric: NumericProjection | None
    vectors: tuple[VectorProjection, ...]
    unprojected_attributes: tuple[Attribute, ...]
    shared_codebooks: SharedCodebooks = field(default_factory=SharedCodebooks, repr=False)
    _last_query: list[tuple[Regions, tuple[Regions, Ints]]] = field(
        default_factory=list, repr=False
    )
    _space: Space = field(init=False, repr=False)

    def __post_init__(self) -> None:
        drawn = [part.directions for part in (*self.vectors, self.numeric) if part is not None]
        names = [str(j) for j in range(sum(map(len, drawn)))]
        attributes = [Attribute(name, DOUBLE) for name in names]
        attributes += [Attribute(f"={a.name}", a.type) for a in self.unprojected_attributes]
        object.__setattr__(self, "_space", Space(tuple(attributes)))

    @classmethod
    def draw(
        cls, regions: Regions, direction_count: int | None, kind: str, seed: int
    ) -> ProjectionMapping:
        """Directions for all that these regions constrain, k of them or four."""
        if kind not in _DIRECTION_KINDS:
            raise InvalidArgumentError(
                f"no directions of kind {kind!r}: there are {', '.join(_DIRECTION_KINDS)}"
            )

        def draw(d: int, part: int) -> Directions:
            return _DIRECTION_KINDS[kind](
                min(d, _DEFAULT_DIRECTIONS) if direction_count is None else direction_count,
                d,
                [seed, part],
            )

        constrained = [regions.space[name] for name in regions.constraints]
        scalars = [a for a in constrained if _is_number(a.type)]
        numbers = (
            NumericProjection.from_regions(regions, scalars, draw(len(scalars), 0))
            if scalars
            else None
        )
        vectors = [a for a in constrained if a.type.is_vector]
        parts = (
            VectorProjection(a.name, draw(a.type.length, 1 + i)) for i, a in enumerate(vectors)
        )
        kept = [a for a in constrained if a.type.is_scalar and not _is_number(a.type)]
        return cls(numbers, tuple(parts), tuple(kept))

    @property
    def direction_count(self) -> int:
        """On how many directions numbers, or the vectors of an attribute, are projected."""
        drawn = [part.directions for part in self.vectors]
        drawn += [self.numeric.directions] if self.numeric else []
        return min(map(len, drawn), default=0)

    def can_project(self, regions: Regions) -> bool:
        """Whether all has a place here that these regions constrain and that can have one."""
        known = {part.name for part in self.vectors} | {a.name for a in self.unprojected_attributes}
        known |= {a.name for a in self.numeric.attributes} if self.numeric else set()
        return all(n in known or regions.space[n].type.is_tags for n in regions.constraints)

    def project_events(self, events: Events) -> Regions:
        """The boxes of events, which are regions of size zero."""
        scalars = [*(self.numeric.attributes if self.numeric else ()), *self.unprojected_attributes]
        columns = {a.name: events[a.name] for a in scalars}
        points = Regions.from_events(Events(events.space, len(events), columns))
        ends = [self.numeric.project_regions(points)] if self.numeric else []
        ends += [part.project_events(events) for part in self.vectors]
        return self._build_boxes(len(events), ends, points.constraints)

    def project_outer(self, regions: Regions, widenings: int) -> Regions:
        """Boxes that contain the boxes of all that these regions cover."""
        ends = [self.numeric.project_regions(regions)] if self.numeric else []
        ends += [
            part.project_balls(regions, part.find_single_balls(regions), widenings)
            for part in self.vectors
        ]
        return self._build_boxes(len(regions), ends, regions.constraints)

    def project_inner(self, regions: Regions) -> tuple[Regions, Ints]:
        """Boxes that those of all covers contain, and the region of each.

        A region of several balls has a box for each: a cover may contain any one of them.
        """
        for known, found in self._last_query:
            if known is regions:
                return found
        found = self._project_inner(regions)
        self._last_query[:] = [(regions, found)] if len(regions) <= MAX_CACHED_REGIONS else []
        return found

    def find_multi_ball_rows(self, regions: Regions) -> Ints:
        """Regions that have several balls somewhere, and so are unbounded, but may be covered."""
        crossed = np.zeros(len(regions), np.bool_)
        for part in self.vectors:
            balls = part.find_ball_choices(regions)
            crossed |= (part.find_single_balls(regions) < 0) & (
                balls.values[balls.offsets[:-1]] >= 0
            )
        return np.flatnonzero(crossed)

    def _project_inner(self, regions: Regions) -> tuple[Regions, Ints]:
        owner, chosen = np.arange(len(regions)), list[Ints]()
        for part in self.vectors:
            balls = part.find_ball_choices(regions)
            places, again = balls.flat_indices(owner)
            owner, chosen = owner[again], [*(c[again] for c in chosen), balls.values[places]]
        ends = []
        if self.numeric:
            ends = [
                (low[owner], high[owner]) for low, high in [self.numeric.project_regions(regions)]
            ]
        for part, balls_of in zip(self.vectors, chosen, strict=True):
            ends.append(part.project_balls(regions, balls_of, 0))
        owned = regions if len(owner) == len(regions) else regions.take(owner)
        return self._build_boxes(len(owner), ends, owned.constraints), owner

    def _build_boxes(
        self, count: int, ends: Sequence[Ends], constraints_by_name: Mapping[str, Constraints]
    ) -> Regions:
        """Boxes of intervals on all directions, and of what is kept as it is."""
        constraints = _build_intervals(ends)
        for attribute in self.unprojected_attributes:
            if attribute.name in constraints_by_name:
                constraints[f"={attribute.name}"] = constraints_by_name[attribute.name]
        return Regions(self._space, count, constraints)


@dataclass(frozen=True, slots=True)
class NumericProjection:
    """How number attributes are taken as one box: in which units, on which directions.

    Null is no place in it: what admits null is unbounded, and so is an event that is null.
    """

    directions: Directions
    attributes: tuple[Attribute, ...]
    origins: tuple[float, ...]
    units: tuple[float, ...]

    @classmethod
    def from_regions(
        cls, regions: Regions, attributes: Sequence[Attribute], directions: Directions
    ) -> NumericProjection:
        """Units from the intervals of these regions."""
        usual = [_estimate_units(regions.constraints[a.name].batch, a.type) for a in attributes]
        origins, units = zip(*usual, strict=True)
        return cls(directions, tuple(attributes), origins, units)

    def project_regions(self, regions: Regions) -> Ends:
        """The ends of regions."""
        shape = (len(self.attributes), len(regions))
        lower, upper = np.full(shape, -np.inf), np.full(shape, np.inf)
        for i, attribute in enumerate(self.attributes):
            if (given := regions.constraints.get(attribute.name)) is not None:
                assert isinstance(given.batch, Scalars)
                low, high = _compute_corners(given.batch, attribute.type)
                lower[i, given.rows], upper[i, given.rows] = self._to_units(i, low, high)
        return self.directions.project_boxes(lower.T, upper.T)

    def _to_units(self, i: int, low: Floats, high: Floats) -> Ends:
        """Numbers in their units; none passes another."""
        with np.errstate(over="ignore"):
            origin, unit = self.origins[i], self.units[i]
            return (low - origin) / unit, (high - origin) / unit


@dataclass(frozen=True, slots=True)
class VectorProjection:
    """How the balls of a vector attribute are projected.

    The bounds are those of `covey.geometry.balls`: `covers` and `overlaps` there see a ball of
    radius r as up to r(1 + 2ε) + 2·1e-20 wide, ε the relative error of a float32 distance.
    """

    name: str
    directions: Directions

    def find_single_balls(self, regions: Regions) -> Ints:
        """For each region the one ball that it is, or -1."""
        chosen = np.full(len(regions), -1)
        if (given := regions.constraints.get(self.name)) is not None:
            assert isinstance(given.batch, Balls)
            balls = given.batch.balls
            rows = np.flatnonzero((given.batch.states == ValueState.VALUE) & (balls.lengths == 1))
            numbers = balls.values[balls.offsets[rows]]
            chosen[given.rows[rows]] = np.where(_is_ball(given.batch)[numbers], numbers, -1)
        return chosen

    def find_ball_choices(self, regions: Regions) -> RaggedArray:
        """For each region the balls of which a cover may contain any, or -1."""
        chosen = self.find_single_balls(regions)
        lists = RaggedArray(np.arange(len(regions) + 1), chosen)
        if (given := regions.constraints.get(self.name)) is None:
            return lists
        assert isinstance(given.batch, Balls)
        balls, good = given.batch.balls, _is_ball(given.batch)
        several = np.flatnonzero((given.batch.states == ValueState.VALUE) & (balls.lengths > 1))
        if not len(several):
            return lists
        rows = [[number] for number in chosen.tolist()]
        for place in several.tolist():
            rows[given.rows[place]] = [b for b in balls.row(place).tolist() if good[b]] or [-1]
        return RaggedArray.from_rows(rows, np.int64)

    def project_balls(self, regions: Regions, ball_numbers: Ints, widenings: int) -> Ends:
        """The ends of balls by number, -1 for none: as they are, or widened so many times."""
        low, high = self._unbounded_ends(len(ball_numbers))
        if (rows := np.flatnonzero(ball_numbers >= 0)).size:
            batch = regions.constraints[self.name].batch
            assert isinstance(batch, Balls)
            balls = ball_numbers[rows]
            radii = decode_floats(batch.upper[balls], FLOAT).astype(np.float64)
            if widenings:
                wider = (
                    radii * (1 + 2 * relative_error_bound(self.directions.dimensions)) + 4 * _TINY
                )
                radii = np.where(batch.points[balls], 2 * _TINY, wider)
                low[rows], high[rows] = self.directions.project_outer_balls(
                    batch.centres[balls], radii, widenings=widenings
                )
            else:
                low[rows], high[rows] = self.directions.project_balls(batch.centres[balls], radii)
        return low, high

    def project_events(self, events: Events) -> Ends:
        """The ends of events; without a vector of numbers an event is unbounded."""
        column = events[self.name]
        assert isinstance(column, VectorColumn)
        low, high = self._unbounded_ends(len(events))
        finite = np.isfinite(column.matrix).all(axis=1)
        rows = np.flatnonzero((column.states == ValueState.VALUE) & finite)
        low[rows], high[rows] = self.directions.project_balls(
            column.matrix[rows], np.zeros(len(rows))
        )
        return low, high

    def _unbounded_ends(self, count: int) -> Ends:
        shape = (len(self.directions), count)
        return np.full(shape, -np.inf).T, np.full(shape, np.inf).T


def _build_intervals(ends: Sequence[Ends]) -> dict[str, Constraints]:
    """Intervals of doubles by direction; one that is unbounded is no constraint."""
    constraints = {}
    lows, highs = ([column for e in ends for column in e[side].T] for side in (0, 1))
    for j, (low, high) in enumerate(zip(lows, highs, strict=True)):
        rows = np.flatnonzero((low > -np.inf) | (high < np.inf))
        if len(rows):
            lower, upper = encode_floats(low[rows]), encode_floats(high[rows])
            upper[high[rows] == np.inf] = key_domain(DOUBLE).high  # no end, which would need a code
            constraints[str(j)] = Constraints(
                rows, Scalars.from_intervals(key_domain(DOUBLE), lower, upper)
            )
    return constraints


def _is_ball(batch: Balls) -> Bools:
    """Which balls lie within a radius of a place; a shell does too."""
    is_near = np.isfinite(decode_floats(batch.upper, FLOAT)) & np.isfinite(batch.centres).all(
        axis=1
    )
    ball: Bools = is_near & (batch.metrics == Metric.L2)
    return ball


def _is_number(type_: Type) -> bool:
    """Whether values of a type are numbers to project; texts and long decimals are not."""
    return type_.is_scalar and key_domain(type_).dtype == np.int64


def _compute_corners(batch: Scalars, type_: Type) -> Ends:
    """Both ends as numbers, unbounded where there is none or null is admitted."""
    low, high = (_keys_to_floats(keys, type_) for keys in (batch.lower, batch.upper))
    free, both = batch.nulls, type_.name == "boolean"  # of two values each is an end
    low[free | (batch.lower == batch.domain.low) & (not both)] = -np.inf
    high[free | (batch.upper == batch.domain.high) & (not both)] = np.inf
    return low, high


def _keys_to_floats(keys: Ints, type_: Type) -> Floats:
    """Numbers in the order of keys; NaN, which is the last, is as infinity."""
    if not type_.is_fractional:
        return keys.astype(np.float64)
    floats = decode_floats(keys, type_).astype(np.float64)
    floats[np.isnan(floats)] = np.inf
    return floats


def _estimate_units(batch: Any, type_: Type) -> tuple[float, float]:
    """The middle of the ends of intervals, and their usual width; of points how they spread."""
    chosen = np.arange(0, len(batch), max(1, len(batch) // _SAMPLE))
    low, high = _compute_corners(batch.take(chosen), type_)
    with np.errstate(over="ignore", invalid="ignore"):
        widths = (high - low)[np.isfinite(low) & np.isfinite(high)]
        ends = np.concatenate([low[np.isfinite(low)], high[np.isfinite(high)]])
        origin = float(np.median(ends)) if len(ends) else 0.0
        unit = float(np.median(widths)) if len(widths) else 0.0
        if not unit > 0 and len(ends):
            unit = float(np.ptp(ends))
    return origin, unit if 0 < unit < np.inf else 1.0
