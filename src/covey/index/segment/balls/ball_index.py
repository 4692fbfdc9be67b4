"""Index of regions that are found by a ball on a vector attribute.

A region with a single ball is not in the tree of bitmaps. It is found by clusters of balls, and its
box of codes is verified afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey.geometry import Regions
from covey.geometry.balls import Balls
from covey.geometry.distances import Metric
from covey.geometry.regions import Constraints
from covey.index.segment.balls.ball_clusters import BallClusters
from covey.space import Events
from covey.space.events import ValueState, VectorColumn
from covey.space.keys import decode_floats
from covey.space.ragged_array import RaggedArray
from covey.space.types import FLOAT

__all__ = ["BallIndex", "is_single_ball"]

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
_SLACK = 1e-4  # relative error allowed for in distances, far more than that of float32


def is_single_ball(batch: Balls) -> Bools:
    """Return for each constraint whether it is a single ball.

    Such a constraint does not admit null, and has exactly one ball, which is not a point.
    """
    has_one = batch.balls.lengths == 1
    is_point = np.zeros(len(batch), np.bool_)
    is_point[has_one] = batch.points[batch.balls.offsets[:-1][has_one]]
    is_single: Bools = has_one & ~is_point & (batch.states == ValueState.VALUE)
    return is_single


@dataclass(frozen=True, slots=True)
class BallIndex:
    """Index of regions at consecutive ordinals from `first_ordinal` on.

    Ball i of `clusters` is the ball of the region at ordinal `first_ordinal + i`. `name` is the
    vector attribute.
    """

    name: str
    first_ordinal: int
    clusters: BallClusters

    @classmethod
    def build(cls, name: str, first_ordinal: int, batch: Balls) -> BallIndex:
        """Build an index from single balls of regions, in the order of the regions' ordinals."""
        return cls(
            name,
            first_ordinal,
            BallClusters.build(batch.metrics, batch.centres, batch.lower, batch.upper),
        )

    def __len__(self) -> int:
        return len(self.clusters)

    @property
    def ordinals(self) -> Ints:
        """Ordinals of the regions of this index."""
        return np.arange(self.first_ordinal, self.first_ordinal + len(self))

    def match(self, events: Events, *, max_pairs: int | None = None) -> tuple[Ints, Ints]:
        """Return pairs of an event row and the ordinal of a ball that contains the event.

        Raises:
            ResultTooLargeError: if more than `max_pairs` pairs are proposed.
        """
        column = events[self.name]
        assert isinstance(column, VectorColumn)
        value_rows = np.flatnonzero(column.states == ValueState.VALUE)
        rows, balls = self.clusters.find_containing(column.matrix[value_rows], max_pairs=max_pairs)
        return value_rows[rows], self.first_ordinal + balls

    def propose_covering(self, regions: Regions) -> tuple[Ints, Ints]:
        """Return pairs of a query row and the ordinal of a ball that may cover the region.

        A ball that covers a region contains each vector of the region. If the centre of the first
        ball of the region is in the region, the balls that contain this centre are proposed;
        otherwise all balls. A region that admits null has no pairs.
        """
        if self.name not in regions.constraints:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        constraints = regions.constraints[self.name]
        assert isinstance(constraints.batch, Balls)
        value_rows = np.flatnonzero(constraints.batch.states == ValueState.VALUE)
        batch, rows = constraints.batch.take(value_rows), constraints.rows[value_rows]
        has_ball = np.flatnonzero(batch.balls.lengths > 0)
        centres = np.zeros((len(batch), batch.centres.shape[1]), np.float32)
        centres[has_ball] = batch.centres[batch.balls.offsets[has_ball]]
        has_centre = batch.contains(centres, np.full(len(batch), ValueState.VALUE, np.uint8))
        query_rows, balls = self.clusters.find_containing(centres[has_centre])
        other_rows = rows[~has_centre]
        return (
            np.concatenate([rows[has_centre][query_rows], np.repeat(other_rows, len(self))]),
            np.concatenate([self.first_ordinal + balls, np.tile(self.ordinals, len(other_rows))]),
        )

    def propose_overlapping(self, regions: Regions, row: int) -> Ints:
        """Return the ordinals of balls that may have a vector in common with one query region."""
        query = regions.take(np.array([row]))
        if self.name not in query.constraints:
            return self.ordinals
        batch = query.constraints[self.name].batch
        assert isinstance(batch, Balls)
        l2_balls = np.flatnonzero(batch.metrics == Metric.L2)
        if not len(l2_balls) or batch.points[l2_balls[0]]:
            return self.ordinals
        clusters = self.clusters
        centre = batch.centres[l2_balls[0]].astype(np.float64)
        with np.errstate(all="ignore"):
            distances = np.linalg.norm(clusters.centres - centre, axis=1)
            radii = decode_floats(clusters.upper, FLOAT).astype(np.float64)
            is_apart = distances * (1 - _SLACK) > radii + float(
                decode_floats(batch.upper[l2_balls], FLOAT)[0]
            )
        is_candidate = ~(is_apart & (clusters.metrics == Metric.L2) & np.isfinite(distances))
        return self.first_ordinal + np.sort(clusters.order[is_candidate])

    def restore_constraints(self, ordinals: Ints) -> Constraints:
        """Return the constraints of the regions at some ordinals.

        Rows of the result are positions in `ordinals`. Ordinals that are not in this index are left
        out.
        """
        clusters, count = self.clusters, len(self)
        cluster_rows = np.empty(count, np.int64)
        cluster_rows[clusters.order] = np.arange(count)
        batch = Balls(
            np.full(count, ValueState.VALUE, np.uint8),
            RaggedArray(np.arange(count + 1), cluster_rows),
            clusters.metrics, clusters.centres, clusters.lower, clusters.upper,
            np.zeros(count, np.bool_),
        )  # fmt: skip
        rows = np.flatnonzero(
            (ordinals >= self.first_ordinal) & (ordinals < self.first_ordinal + count)
        )
        return Constraints(rows, batch.take(ordinals[rows] - self.first_ordinal))

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the index as named arrays; the attribute name is not included."""
        return {"first": np.array([self.first_ordinal]), **self.clusters.to_arrays()}

    @classmethod
    def from_arrays(cls, name: str, arrays: Mapping[str, NDArray[Any]]) -> BallIndex:
        """Return the index that `to_arrays` turned into arrays."""
        return cls(name, int(arrays["first"][0]), BallClusters.from_arrays(arrays))
