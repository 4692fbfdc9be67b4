"""The mapping of regions and events to small boxes by random projections.

The intervals of a region on all number attributes form one box, and its constraint on a vector
attribute is a ball. The box and each ball are projected on directions of their own. A small box
consists of one interval for each direction. Constraints on texts and long decimals are constraints
of the small box without a change.
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
_DEFAULT_DIRECTIONS = 4  # because a segment compares four codes at once
_SAMPLE = 10_000  # constraints from which the unit of an attribute is estimated
_TINY = 1e-20  # largest distance of vectors whose float32 distance is 0


@dataclass(frozen=True, slots=True)
class ProjectionMapping:
    """Mapping of regions and events to small boxes.

    The inner boxes of the last query regions are cached, because several indexes with the same
    mapping may be queried with the same regions.

    Args:
        numeric: projection of all number attributes; None if there are no number attributes.
        vectors: projections of the vector attributes.
        unprojected_attributes: texts and long decimals, which are attributes of the small boxes.
        shared_codebooks: codebooks that the indexes of small boxes share.
    """

    numeric: NumericProjection | None
    vectors: tuple[VectorProjection, ...]
    unprojected_attributes: tuple[Attribute, ...]
    shared_codebooks: SharedCodebooks = field(default_factory=SharedCodebooks, repr=False)
    _last_query: list[tuple[Regions, tuple[Regions, Ints]]] = field(
        default_factory=list, repr=False
    )
    _space: Space = field(init=False, repr=False)

    def __post_init__(self) -> None:
        drawn = [
            projection.directions
            for projection in (*self.vectors, self.numeric)
            if projection is not None
        ]
        names = [str(j) for j in range(sum(map(len, drawn)))]
        attributes = [Attribute(name, DOUBLE) for name in names]
        attributes += [Attribute(f"={a.name}", a.type) for a in self.unprojected_attributes]
        object.__setattr__(self, "_space", Space(tuple(attributes)))

    @classmethod
    def draw(
        cls, regions: Regions, direction_count: int | None, kind: str, seed: int
    ) -> ProjectionMapping:
        """Return a mapping with random directions for the attributes that the regions constrain.

        `direction_count` is the number of directions of each projection. If it is None, a
        projection has as many directions as dimensions, but at most four. `kind` is "orthonormal",
        "signs" or "sparse".

        Raises:
            InvalidArgumentError: `kind` is none of these.
        """
        if kind not in _DIRECTION_KINDS:
            raise InvalidArgumentError(
                f"kind must be one of {', '.join(_DIRECTION_KINDS)}, got {kind!r}"
            )

        def draw(d: int, part: int) -> Directions:
            """Draw directions in d dimensions for projection number `part`."""
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
        projections = (
            VectorProjection(a.name, draw(a.type.length, 1 + i)) for i, a in enumerate(vectors)
        )
        unprojected = [a for a in constrained if a.type.is_scalar and not _is_number(a.type)]
        return cls(numbers, tuple(projections), tuple(unprojected))

    @property
    def direction_count(self) -> int:
        """Smallest number of directions of any projection; 0 if there are no projections."""
        drawn = [projection.directions for projection in self.vectors]
        drawn += [self.numeric.directions] if self.numeric else []
        return min(map(len, drawn), default=0)

    def can_project(self, regions: Regions) -> bool:
        """Return whether the mapping has all attributes, except tags, that `regions` constrain."""
        names = {projection.name for projection in self.vectors} | {
            a.name for a in self.unprojected_attributes
        }
        names |= {a.name for a in self.numeric.attributes} if self.numeric else set()
        return all(n in names or regions.space[n].type.is_tags for n in regions.constraints)

    def project_events(self, events: Events) -> Regions:
        """Return the small box of each event.

        If the event has null in an attribute, or no finite vector, its intervals on the directions
        that depend on this attribute are unbounded.
        """
        scalars = [*(self.numeric.attributes if self.numeric else ()), *self.unprojected_attributes]
        columns = {a.name: events[a.name] for a in scalars}
        points = Regions.from_events(Events(events.space, len(events), columns))
        ends = [self.numeric.project_regions(points)] if self.numeric else []
        ends += [projection.project_events(events) for projection in self.vectors]
        return self._build_boxes(len(events), ends, points.constraints)

    def project_outer(self, regions: Regions, widenings: int) -> Regions:
        """Return for each region its outer box.

        If the region covers another region, the outer box contains an inner box of the other
        region. With `widenings=2`, it also contains the outer box (with one widening) of the other
        region, unless the other region is one of those that `find_multi_ball_rows` finds.
        `widenings` is the number of widenings for rounding errors; see
        `covey.geometry.projections.Directions.project_outer_balls`.
        """
        ends = [self.numeric.project_regions(regions)] if self.numeric else []
        ends += [
            projection.project_balls(regions, projection.find_single_balls(regions), widenings)
            for projection in self.vectors
        ]
        return self._build_boxes(len(regions), ends, regions.constraints)

    def project_inner(self, regions: Regions) -> tuple[Regions, Ints]:
        """Return the inner boxes of all regions, and the query row of each box.

        If one region covers another, the outer box of the first contains at least one inner box of
        the second. A region with several balls on an attribute has one inner box per ball, because
        a cover contains at least one of the balls, but need not contain all of them. The result for
        the last query is cached.
        """
        for cached_regions, boxes in self._last_query:
            if cached_regions is regions:
                return boxes
        boxes = self._project_inner(regions)
        self._last_query[:] = [(regions, boxes)] if len(regions) <= MAX_CACHED_REGIONS else []
        return boxes

    def find_multi_ball_rows(self, regions: Regions) -> Ints:
        """Return the rows of the regions that have several balls, one of them l2, on an attribute.

        Their outer boxes are unbounded on the directions of this attribute, so the outer box of a
        cover need not contain them. `RandomProjectionIndex` stores the boxes of these rows in a
        second segment.
        """
        has_several = np.zeros(len(regions), np.bool_)
        for projection in self.vectors:
            balls = projection.find_ball_choices(regions)
            has_several |= (projection.find_single_balls(regions) < 0) & (
                balls.values[balls.offsets[:-1]] >= 0
            )
        return np.flatnonzero(has_several)

    def _project_inner(self, regions: Regions) -> tuple[Regions, Ints]:
        """Compute the result of `project_inner`, without the cache."""
        query_rows, chosen = np.arange(len(regions)), list[Ints]()
        for projection in self.vectors:
            balls = projection.find_ball_choices(regions)
            value_rows, box_rows = balls.flat_indices(query_rows)
            query_rows, chosen = (
                query_rows[box_rows],
                [*(c[box_rows] for c in chosen), balls.values[value_rows]],
            )
        ends = []
        if self.numeric:
            ends = [
                (low[query_rows], high[query_rows])
                for low, high in [self.numeric.project_regions(regions)]
            ]
        for projection, balls_of in zip(self.vectors, chosen, strict=True):
            ends.append(projection.project_balls(regions, balls_of, 0))
        box_regions = regions if len(query_rows) == len(regions) else regions.take(query_rows)
        return self._build_boxes(len(query_rows), ends, box_regions.constraints), query_rows

    def _build_boxes(
        self, count: int, ends: Sequence[Ends], constraints_by_name: Mapping[str, Constraints]
    ) -> Regions:
        """Return small boxes from intervals on all directions and from unprojected constraints."""
        constraints = _build_intervals(ends)
        for attribute in self.unprojected_attributes:
            if attribute.name in constraints_by_name:
                constraints[f"={attribute.name}"] = constraints_by_name[attribute.name]
        return Regions(self._space, count, constraints)


@dataclass(frozen=True, slots=True)
class NumericProjection:
    """Projection of all number attributes as one box on random directions.

    Before the projection, a number x of attribute i is replaced by `(x - origins[i]) / units[i]`.
    If a region admits null in an attribute, its box is unbounded in that attribute, as is the box
    of an event with null.
    """

    directions: Directions
    attributes: tuple[Attribute, ...]
    origins: tuple[float, ...]
    units: tuple[float, ...]

    @classmethod
    def from_regions(
        cls, regions: Regions, attributes: Sequence[Attribute], directions: Directions
    ) -> NumericProjection:
        """Return a projection with origins and units that suit the intervals of regions."""
        origins_and_units = [
            _estimate_units(regions.constraints[a.name].batch, a.type) for a in attributes
        ]
        origins, units = zip(*origins_and_units, strict=True)
        return cls(directions, tuple(attributes), origins, units)

    def project_regions(self, regions: Regions) -> Ends:
        """Return for each region the ends of its intervals on all directions."""
        shape = (len(self.attributes), len(regions))
        lower, upper = np.full(shape, -np.inf), np.full(shape, np.inf)
        for i, attribute in enumerate(self.attributes):
            if (constraints := regions.constraints.get(attribute.name)) is not None:
                assert isinstance(constraints.batch, Scalars)
                low, high = _compute_corners(constraints.batch, attribute.type)
                lower[i, constraints.rows], upper[i, constraints.rows] = self._to_units(
                    i, low, high
                )
        return self.directions.project_boxes(lower.T, upper.T)

    def _to_units(self, i: int, low: Floats, high: Floats) -> Ends:
        """Convert lower and upper ends to the unit of attribute i; their order is preserved."""
        with np.errstate(over="ignore"):
            origin, unit = self.origins[i], self.units[i]
            return (low - origin) / unit, (high - origin) / unit


@dataclass(frozen=True, slots=True)
class VectorProjection:
    """Projection of the balls of one vector attribute.

    Balls of outer boxes are widened, because `covers` and `overlaps` of `covey.geometry.balls`
    treat a ball of radius r as if its radius were up to r(1 + 2ε) + 2·1e-20, where ε is the
    relative error of a float32 distance.
    """

    name: str
    directions: Directions

    def find_single_balls(self, regions: Regions) -> Ints:
        """Return for each region the number of its only ball, or -1.

        The number of a ball is its row in the arrays of `Balls`, such as `centres`. The result is
        -1 for a region that admits null, has no ball or several balls, or whose ball is not an l2
        ball with a finite radius and centre.
        """
        chosen = np.full(len(regions), -1)
        if (constraints := regions.constraints.get(self.name)) is not None:
            assert isinstance(constraints.batch, Balls)
            balls = constraints.batch.balls
            rows = np.flatnonzero(
                (constraints.batch.states == ValueState.VALUE) & (balls.lengths == 1)
            )
            numbers = balls.values[balls.offsets[rows]]
            chosen[constraints.rows[rows]] = np.where(
                _is_ball(constraints.batch)[numbers], numbers, -1
            )
        return chosen

    def find_ball_choices(self, regions: Regions) -> RaggedArray:
        """Return for each region the numbers of its l2 balls with a finite radius and centre.

        A cover of the region contains at least one of these balls. If the region has no such ball,
        or admits null, its list is [-1]. Numbers are those of `find_single_balls`.
        """
        chosen = self.find_single_balls(regions)
        lists = RaggedArray(np.arange(len(regions) + 1), chosen)
        if (constraints := regions.constraints.get(self.name)) is None:
            return lists
        assert isinstance(constraints.batch, Balls)
        balls, is_ball = constraints.batch.balls, _is_ball(constraints.batch)
        several = np.flatnonzero(
            (constraints.batch.states == ValueState.VALUE) & (balls.lengths > 1)
        )
        if not len(several):
            return lists
        rows = [[number] for number in chosen.tolist()]
        for row in several.tolist():
            rows[constraints.rows[row]] = [b for b in balls.row(row).tolist() if is_ball[b]] or [-1]
        return RaggedArray.from_rows(rows, np.int64)

    def project_balls(self, regions: Regions, ball_numbers: Ints, widenings: int) -> Ends:
        """Return for each ball the ends of its intervals on all directions.

        Numbers of balls are those of `find_single_balls`. For -1, which means no ball, all
        intervals are unbounded. `widenings` is that of `project_outer`; with 0, balls are not
        widened.
        """
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
        """Return for each event the ends of its intervals on all directions.

        The intervals of an event without a finite vector are unbounded.
        """
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
        """Return the ends of `count` rows of unbounded intervals."""
        shape = (len(self.directions), count)
        return np.full(shape, -np.inf).T, np.full(shape, np.inf).T


def _build_intervals(ends: Sequence[Ends]) -> dict[str, Constraints]:
    """Return the constraints on each direction; unbounded intervals are left out.

    The attribute of a direction has its number as name, counted from 0 over all projections.
    """
    constraints = {}
    lows, highs = ([column for e in ends for column in e[side].T] for side in (0, 1))
    for j, (low, high) in enumerate(zip(lows, highs, strict=True)):
        rows = np.flatnonzero((low > -np.inf) | (high < np.inf))
        if len(rows):
            lower, upper = encode_floats(low[rows]), encode_floats(high[rows])
            upper[high[rows] == np.inf] = key_domain(
                DOUBLE
            ).high  # unbounded, so that it needs no code
            constraints[str(j)] = Constraints(
                rows, Scalars.from_intervals(key_domain(DOUBLE), lower, upper)
            )
    return constraints


def _is_ball(batch: Balls) -> Bools:
    """Return for each ball whether it is an l2 ball with a finite radius and centre."""
    is_finite = np.isfinite(decode_floats(batch.upper, FLOAT)) & np.isfinite(batch.centres).all(
        axis=1
    )
    ball: Bools = is_finite & (batch.metrics == Metric.L2)
    return ball


def _is_number(type_: Type) -> bool:
    """Return whether values of a type can be projected; texts and long decimals cannot."""
    return type_.is_scalar and key_domain(type_).dtype == np.int64


def _compute_corners(batch: Scalars, type_: Type) -> Ends:
    """Return the lower and the upper end of each constraint as numbers.

    An end is infinite if the constraint has no such end, or admits null.
    """
    low, high = (_keys_to_floats(keys, type_) for keys in (batch.lower, batch.upper))
    # The domain of booleans has two keys, so that its ends are finite bounds.
    free, is_boolean = batch.nulls, type_.name == "boolean"
    low[free | (batch.lower == batch.domain.low) & (not is_boolean)] = -np.inf
    high[free | (batch.upper == batch.domain.high) & (not is_boolean)] = np.inf
    return low, high


def _keys_to_floats(keys: Ints, type_: Type) -> Floats:
    """Convert keys to numbers of the same order; NaN, which has the highest key, is infinite."""
    if not type_.is_fractional:
        return keys.astype(np.float64)
    floats = decode_floats(keys, type_).astype(np.float64)
    floats[np.isnan(floats)] = np.inf
    return floats


def _estimate_units(batch: Any, type_: Type) -> tuple[float, float]:
    """Return the origin and the unit of an attribute.

    The origin is the median of the ends of intervals, and the unit is the median of their widths.
    If this median is 0, as it is for points, the unit is the range of the ends. If that is 0 too,
    or there are no ends, the unit is 1.
    """
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
