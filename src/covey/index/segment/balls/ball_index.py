"""Regions that are found by a ball on a vector attribute.

A region with one ball of vectors is not in the tree: clusters of balls lead to it, and its box of
codes is looked at afterwards.
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
_SLACK = 1e-4  # relative, far more than float32 can be wrong by


def is_single_ball(batch: Balls) -> Bools:
    """Which constraints are one ball and admit nothing but vectors in it."""
    single = batch.balls.lengths == 1
    points = np.zeros(len(batch), np.bool_)
    points[single] = batch.points[batch.balls.offsets[:-1][single]]
    led: Bools = single & ~points & (batch.states == ValueState.VALUE)
    return led


@dataclass(frozen=True, slots=True)
class BallIndex:
    """Regions at consecutive ordinals, a ball of `clusters` each, in their order."""

    name: str
    first_ordinal: int
    clusters: BallClusters

    @classmethod
    def build(cls, name: str, first_ordinal: int, batch: Balls) -> BallIndex:
        """From the constraints of those regions, in the order of their ordinals."""
        return cls(
            name,
            first_ordinal,
            BallClusters.build(batch.metrics, batch.centres, batch.lower, batch.upper),
        )

    def __len__(self) -> int:
        return len(self.clusters)

    @property
    def ordinals(self) -> Ints:
        """Where its regions are."""
        return np.arange(self.first_ordinal, self.first_ordinal + len(self))

    def match(self, events: Events, *, max_pairs: int | None = None) -> tuple[Ints, Ints]:
        """Events and the ordinals of all balls that they are in.

        Raises `ResultTooLargeError` beyond `max_pairs`.
        """
        column = events[self.name]
        assert isinstance(column, VectorColumn)
        whole = np.flatnonzero(column.states == ValueState.VALUE)
        rows, balls = self.clusters.find_containing(column.matrix[whole], max_pairs=max_pairs)
        return whole[rows], self.first_ordinal + balls

    def propose_covering(self, regions: Regions) -> tuple[Ints, Ints]:
        """Regions and the ordinals of balls that may cover them.

        What covers a region contains each of its vectors, such as the centre of its first ball.
        """
        if self.name not in regions.constraints:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        given = regions.constraints[self.name]
        assert isinstance(given.batch, Balls)
        asked = np.flatnonzero(given.batch.states == ValueState.VALUE)
        batch, rows = given.batch.take(asked), given.rows[asked]
        has_ball = np.flatnonzero(batch.balls.lengths > 0)
        centres = np.zeros((len(batch), batch.centres.shape[1]), np.float32)
        centres[has_ball] = batch.centres[batch.balls.offsets[has_ball]]
        known = batch.contains(centres, np.full(len(batch), ValueState.VALUE, np.uint8))
        owners, balls = self.clusters.find_containing(centres[known])
        others = rows[~known]
        return (
            np.concatenate([rows[known][owners], np.repeat(others, len(self))]),
            np.concatenate([self.first_ordinal + balls, np.tile(self.ordinals, len(others))]),
        )

    def propose_overlapping(self, regions: Regions, row: int) -> Ints:
        """The ordinals of balls that may have a vector in common with one region's."""
        alone = regions.take(np.array([row]))
        if self.name not in alone.constraints:
            return self.ordinals
        batch = alone.constraints[self.name].batch
        assert isinstance(batch, Balls)
        mine = np.flatnonzero(batch.metrics == Metric.L2)
        if not len(mine) or batch.points[mine[0]]:
            return self.ordinals
        clusters = self.clusters
        centre = batch.centres[mine[0]].astype(np.float64)
        with np.errstate(all="ignore"):
            apart = np.linalg.norm(clusters.centres - centre, axis=1)
            reach = decode_floats(clusters.upper, FLOAT).astype(np.float64)
            far = apart * (1 - _SLACK) > reach + float(decode_floats(batch.upper[mine], FLOAT)[0])
        kept = ~(far & (clusters.metrics == Metric.L2) & np.isfinite(apart))
        return self.first_ordinal + np.sort(clusters.order[kept])

    def restore_constraints(self, ordinals: Ints) -> Constraints:
        """The constraints of its regions at some ordinals; rows are indices into these."""
        clusters, count = self.clusters, len(self)
        at = np.empty(count, np.int64)
        at[clusters.order] = np.arange(count)
        batch = Balls(
            np.full(count, ValueState.VALUE, np.uint8), RaggedArray(np.arange(count + 1), at),
            clusters.metrics, clusters.centres, clusters.lower, clusters.upper,
            np.zeros(count, np.bool_),
        )  # fmt: skip
        rows = np.flatnonzero(
            (ordinals >= self.first_ordinal) & (ordinals < self.first_ordinal + count)
        )
        return Constraints(rows, batch.take(ordinals[rows] - self.first_ordinal))

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """All that it is made of, but for its name."""
        return {"first": np.array([self.first_ordinal]), **self.clusters.to_arrays()}

    @classmethod
    def from_arrays(cls, name: str, arrays: Mapping[str, NDArray[Any]]) -> BallIndex:
        """What `to_arrays` took apart."""
        return cls(name, int(arrays["first"][0]), BallClusters.from_arrays(arrays))
