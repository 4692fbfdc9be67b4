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
from covey.index.clusters import Clusters
from covey.space import Events
from covey.space.events import State, VectorColumn
from covey.space.keys import key_float
from covey.space.ragged import Ragged
from covey.space.types import FLOAT

__all__ = ["Near", "found_by_balls"]

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
_SLACK = 1e-4  # relative, far more than float32 can be wrong by


def found_by_balls(batch: Balls) -> Bools:
    """Which constraints are one ball and admit nothing but vectors in it."""
    single = batch.balls.lengths == 1
    points = np.zeros(len(batch), np.bool_)
    points[single] = batch.points[batch.balls.offsets[:-1][single]]
    led: Bools = single & ~points & (batch.states == State.VALUE)
    return led


@dataclass(frozen=True, slots=True)
class Near:
    """Regions at consecutive places from `first` on, a ball of `clusters` each, in their order."""

    name: str
    first: int
    clusters: Clusters

    @classmethod
    def build(cls, name: str, first: int, batch: Balls) -> Near:
        """From the constraints of those regions, in the order of their places."""
        return cls(
            name, first, Clusters.build(batch.metrics, batch.centres, batch.lower, batch.upper)
        )

    def __len__(self) -> int:
        return len(self.clusters)

    @property
    def places(self) -> Ints:
        """Where its regions are."""
        return np.arange(self.first, self.first + len(self))

    def matching(self, events: Events, most: int | None = None) -> tuple[Ints, Ints]:
        """Events and the places of all balls that they are in; `TooManyPairs` beyond `most`."""
        column = events[self.name]
        assert isinstance(column, VectorColumn)
        whole = np.flatnonzero(column.states == State.VALUE)
        rows, balls = self.clusters.containing(column.matrix[whole], most)
        return whole[rows], self.first + balls

    def covering(self, regions: Regions) -> tuple[Ints, Ints]:
        """Regions and the places of balls that may cover them.

        What covers a region contains each of its vectors, such as the centre of its first ball.
        """
        if self.name not in regions.constraints:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        given = regions.constraints[self.name]
        assert isinstance(given.batch, Balls)
        asked = np.flatnonzero(given.batch.states == State.VALUE)
        batch, rows = given.batch.take(asked), given.rows[asked]
        has_ball = np.flatnonzero(batch.balls.lengths > 0)
        centres = np.zeros((len(batch), batch.centres.shape[1]), np.float32)
        centres[has_ball] = batch.centres[batch.balls.offsets[has_ball]]
        known = batch.contains(centres, np.full(len(batch), State.VALUE, np.uint8))
        owners, balls = self.clusters.containing(centres[known])
        others = rows[~known]
        return (
            np.concatenate([rows[known][owners], np.repeat(others, len(self))]),
            np.concatenate([self.first + balls, np.tile(self.places, len(others))]),
        )

    def meeting(self, regions: Regions, row: int) -> Ints:
        """The places of balls that may have a vector in common with one region's."""
        alone = regions.take(np.array([row]))
        if self.name not in alone.constraints:
            return self.places
        batch = alone.constraints[self.name].batch
        assert isinstance(batch, Balls)
        mine = np.flatnonzero(batch.metrics == Metric.L2)
        if not len(mine) or batch.points[mine[0]]:
            return self.places
        clusters = self.clusters
        centre = batch.centres[mine[0]].astype(np.float64)
        with np.errstate(all="ignore"):
            apart = np.linalg.norm(clusters.centres - centre, axis=1)
            reach = key_float(clusters.upper, FLOAT).astype(np.float64)
            far = apart * (1 - _SLACK) > reach + float(key_float(batch.upper[mine], FLOAT)[0])
        kept = ~(far & (clusters.metrics == Metric.L2) & np.isfinite(apart))
        return self.first + np.sort(clusters.order[kept])

    def originals(self, places: Ints) -> Constraints:
        """The constraints of its regions at some places; rows are numbers of those."""
        clusters, count = self.clusters, len(self)
        at = np.empty(count, np.int64)
        at[clusters.order] = np.arange(count)
        batch = Balls(
            np.full(count, State.VALUE, np.uint8), Ragged(np.arange(count + 1), at),
            clusters.metrics, clusters.centres, clusters.lower, clusters.upper,
            np.zeros(count, np.bool_),
        )  # fmt: skip
        rows = np.flatnonzero((places >= self.first) & (places < self.first + count))
        return Constraints(rows, batch.take(places[rows] - self.first))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that it is made of, but for its name."""
        return {"first": np.array([self.first]), **self.clusters.arrays()}

    @classmethod
    def from_arrays(cls, name: str, arrays: Mapping[str, NDArray[Any]]) -> Near:
        """What `arrays` took apart."""
        return cls(name, int(arrays["first"][0]), Clusters.from_arrays(arrays))
