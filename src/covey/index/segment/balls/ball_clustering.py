"""Clustering of balls: which balls are in clusters, and which are compared with every event.

The choice minimises an estimated cost. A cluster has a direction. An event reaches a cluster if it
is close enough to the direction to be in one of the balls of the cluster. It is compared only with
the balls of clusters that it reaches. An event reaches a ball if the direction of the ball's
cluster does not exclude that the event is in the ball. The cost of a ball is estimated from the
share of the events that reach the ball, which is measured with some of the centres as events. If
many events reach a ball, the ball remains without a cluster, because it is cheaper to compare it
with all events at once. A cluster is dropped if it saves less than its direction costs. If no balls
have similar directions, there are no clusters.

A sketch of a vector consists of its components in a few dimensions, in which the centres have most
of their length, and of the length of the remaining component. The inner product of two sketches is
never less than that of the vectors. Sketches make comparisons with every event cheaper if the
centres have approximately low rank.

The unit of costs is one multiplication and addition of a large matrix product.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from covey.index.segment.balls.ball_demands import (
    Floats,
    Keys,
    Matrix,
    compute_demands,
    compute_norms,
    compute_reach_angles,
    find_norm_bins,
)

__all__ = [
    "MAX_SAMPLE",
    "UNCLUSTERED",
    "BallBatch",
    "choose_clusters",
    "choose_sketch_basis",
    "compute_sketches",
]

Rows = NDArray[np.int64]

UNCLUSTERED = -1
"""Label of a ball that is in no cluster."""
MAX_SAMPLE = 16384
"""Largest number of balls from which clusters and sketches are chosen."""
_MIN_BALLS = 256  # fewer balls are neither clustered nor sketched
_LEADER_COSINES = (0.35, 0.5, 0.65, 0.75, 0.85, 0.95)  # smallest cosine of a ball and its leader
_MAX_EVENTS = 256  # largest number of centres that are used as events
_ROWS_PER_BLOCK = 1024  # rows of one matrix product
_SKETCH_SIZES = (1 / 16, 1 / 8, 3 / 16, 1 / 4, 5 / 16, 3 / 8, 1 / 2)  # shares of dimensions
_MAX_COST_SHARE = 0.8  # of a full product: a sketch must save a fifth


@dataclass(frozen=True, slots=True)
class BallBatch:
    """Balls with the norms of their centres and their demands (4 rows, one column per ball)."""

    metrics: NDArray[np.uint8]
    centres: Matrix
    lower: Keys
    upper: Keys
    norms: Floats
    demands: Matrix

    @classmethod
    def from_balls(
        cls, metrics: NDArray[np.uint8], centres: Matrix, lower: Keys, upper: Keys
    ) -> BallBatch:
        """Return a batch from the arguments of `BallClusters.build`."""
        norms = compute_norms(centres)
        demands = compute_demands(metrics, norms, lower, upper, centres.shape[1])
        return cls(metrics, centres, lower, upper, norms, demands)

    def __len__(self) -> int:
        return len(self.norms)

    def take(self, rows: Rows) -> BallBatch:
        """Return the balls at `rows`, in that order."""
        return BallBatch(
            self.metrics[rows], self.centres[rows], self.lower[rows], self.upper[rows],
            self.norms[rows], np.take(self.demands, rows, axis=1),
        )  # fmt: skip

    def sample(self, count: int, random: np.random.Generator) -> BallBatch:
        """Return a random sample of at most `count` balls."""
        return self.take(random.permutation(len(self))[:count])

    def unit_directions(self, start: int, stop: int) -> Matrix:
        """Return unit vectors in the directions of the balls from `start` to `stop` - 1.

        The direction of a ball is that of its centre, or the opposite direction if its demand has
        the sign -1.
        """
        scales = self.demands[0, start:stop] / np.maximum(self.norms[start:stop], 1e-30)
        units: Matrix = self.centres[start:stop] * scales[:, None].astype(np.float32)
        return units


def choose_clusters(
    batch: BallBatch, edges: Floats, random: np.random.Generator
) -> tuple[Matrix, Rows]:
    """Return the directions of clusters, and for each ball its cluster, or `UNCLUSTERED`.

    `edges` are the edges of the bins of norms. Norms of centres must not be zero.

    Cost: a matrix product of balls and directions, and about as much for the choice.
    """
    length = batch.centres.shape[1]
    best_directions, saved = np.empty((0, length), np.float32), 0.0
    if len(batch) < _MIN_BALLS:
        return best_directions, np.full(len(batch), UNCLUSTERED)
    sample = batch.sample(MAX_SAMPLE, random)
    judge_rows, leader_rows = np.split(np.arange(len(sample)), [len(sample) // 4])
    judges, leader_sample = sample.take(judge_rows), sample.take(leader_rows)
    scan_cost = choose_sketch_basis(judges, len(batch), random)[1]
    events = judges.sample(_MAX_EVENTS, random)

    def savings(balls: BallBatch, directions: Matrix, labels: Rows) -> Floats:
        """Return the cost per event that each ball saves in its cluster."""
        return scan_cost - _pair_cost(length) * _measure_reach(
            balls, directions, labels, events, edges
        )

    for max_cosine in _LEADER_COSINES:
        directions = _pick_leaders(leader_sample, max_cosine, len(leader_sample) // 4)
        direction_cost = len(directions) * _scan_cost(length)
        if len(batch) * scan_cost - direction_cost <= saved:
            break
        directions = _average_directions(
            leader_sample, _assign_nearest(leader_sample, directions), directions
        )
        ball_savings = savings(judges, directions, _assign_nearest(judges, directions))
        total = float(np.maximum(ball_savings, 0).mean()) * len(batch) - direction_cost
        if total > saved:
            best_directions, saved = directions, total
    if not saved:
        return best_directions, np.full(len(batch), UNCLUSTERED)
    labels = _assign_nearest(batch, best_directions)
    best_directions = _average_directions(batch, labels, best_directions)
    return _drop_unprofitable(best_directions, labels, savings(batch, best_directions, labels))


def choose_sketch_basis(
    batch: BallBatch, ball_count: int, random: np.random.Generator
) -> tuple[Floats, float]:
    """Return the dimensions of sketches, one per column, and the cost per event and ball.

    If sketches do not save a fifth of the cost of inner products of vectors, there are no
    dimensions. `batch` is a sample of `ball_count` balls.
    """
    length = batch.centres.shape[1]
    basis, cost = np.empty((length, 0)), _scan_cost(length)
    if len(batch) < _MIN_BALLS:
        return basis, cost
    moments = batch.centres.T.astype(np.float64) @ batch.centres
    axes = np.linalg.eigh(moments)[1][:, ::-1]
    events, balls = batch.sample(_MAX_EVENTS, random), batch.sample(MAX_SAMPLE // 4, random)
    norms = events.norms.astype(np.float32)[:, None]
    sign, square, linear, constant = balls.demands
    with np.errstate(over="ignore", invalid="ignore"):  # some demands are infinite
        demanded = square * (norms**2 / 2) + linear * norms + constant
    for share in _SKETCH_SIZES:
        # A sketch has one number more than components, the length of the remainder.
        size = max(1, int(share * length) - 1)
        ball_sketches = compute_sketches(balls.centres, balls.norms, axes[:, :size])
        ball_sketches[:, :-1] *= sign[:, None]
        products = compute_sketches(events.centres, events.norms, axes[:, :size]) @ ball_sketches.T
        remaining_share = float((products >= demanded).mean())
        sketch_cost = (
            _scan_cost(size + 1)
            + remaining_share * _pair_cost(length)
            + 4 * size * length / ball_count
        )
        if sketch_cost < min(cost, _MAX_COST_SHARE * _scan_cost(length)):
            basis, cost = np.ascontiguousarray(axes[:, :size]), sketch_cost
    return basis, cost


def compute_sketches(vectors: Matrix, norms: Floats, basis: Floats) -> Matrix:
    """Return one sketch per vector: its components in `basis`, and the length of the remainder."""
    sketches = np.empty((len(vectors), basis.shape[1] + 1), np.float32)
    for start in range(0, len(vectors), _ROWS_PER_BLOCK):
        rows = slice(start, start + _ROWS_PER_BLOCK)
        components = vectors[rows].astype(np.float64) @ basis
        remainders = norms[rows] ** 2 - np.einsum("ij,ij->i", components, components)
        sketches[rows, :-1] = components
        sketches[rows, -1] = np.sqrt(np.maximum(remainders, 0)) + 2e-7 * norms[rows]
    return sketches


def _scan_cost(length: int) -> float:
    """Return the cost of computing one inner product in a matrix product, and comparing it."""
    return length + 10.0


def _pair_cost(length: int) -> float:
    """Return the cost of a single inner product, most of which is for loading both vectors."""
    return 8.0 * length


def _pick_leaders(batch: BallBatch, max_cosine: float, max_leaders: int) -> Matrix:
    """Return directions of balls whose cosines with each other are less than `max_cosine`.

    At most `max_leaders` directions are returned. If fewer are returned, the cosine of each ball
    with at least one of them is `max_cosine` or more.
    """
    leaders = np.empty((max_leaders, batch.centres.shape[1]), np.float32)
    count = 0
    for start in range(0, len(batch), 256):
        units = batch.unit_directions(start, start + 256)
        units = units[(units @ leaders[:count].T).max(axis=1, initial=-1) < max_cosine]
        cosines = units @ units.T
        chosen_rows: list[int] = []
        for i in range(len(units)):
            if cosines[i, chosen_rows].max(initial=-1) < max_cosine:
                chosen_rows.append(i)
        chosen_rows = chosen_rows[: max_leaders - count]
        leaders[count : count + len(chosen_rows)] = units[chosen_rows]
        count += len(chosen_rows)
    return leaders[:count]


def _assign_nearest(batch: BallBatch, directions: Matrix) -> Rows:
    """Return for each ball the number of the direction with the largest cosine."""
    labels = np.empty(len(batch), np.int64)
    for start in range(0, len(batch), _ROWS_PER_BLOCK):
        cosines = batch.unit_directions(start, start + _ROWS_PER_BLOCK) @ directions.T
        labels[start : start + _ROWS_PER_BLOCK] = cosines.argmax(axis=1)
    return labels


def _average_directions(batch: BallBatch, labels: Rows, directions: Matrix) -> Matrix:
    """Return the mean direction of each cluster, or its old direction if the mean is near zero."""
    sums = np.zeros(directions.shape, np.float32)
    for start in range(0, len(batch), _ROWS_PER_BLOCK):
        np.add.at(
            sums,
            labels[start : start + _ROWS_PER_BLOCK],
            batch.unit_directions(start, start + _ROWS_PER_BLOCK),
        )
    lengths = np.linalg.norm(sums.astype(np.float64), axis=1)[:, None]
    means = np.where(lengths > 1e-3, sums / np.maximum(lengths, 1e-3), directions)
    return means.astype(np.float32)


def _measure_reach(
    batch: BallBatch, directions: Matrix, labels: Rows, events: BallBatch, edges: Floats
) -> Floats:
    """Return for each ball the share of events that reach it.

    An event reaches a ball if the direction of the ball's cluster does not exclude that the event
    is in the ball. `labels` has the cluster of each ball.
    """
    cosines = events.centres @ directions.T / events.norms[:, None]
    event_angles = np.arccos(np.clip(cosines, -1, 1)).astype(np.float32)
    bins = find_norm_bins(events.norms, edges)
    shares = np.empty(len(batch))
    for start in range(0, len(batch), _ROWS_PER_BLOCK):
        rows = slice(start, start + _ROWS_PER_BLOCK)
        block_labels = labels[rows]
        cosines = np.einsum(
            "ij,ij->i",
            batch.unit_directions(start, start + _ROWS_PER_BLOCK),
            directions[block_labels],
        )
        angles = compute_reach_angles(batch.demands[:, rows], batch.norms[rows], edges)
        angles += np.arccos(np.clip(cosines, -1, 1))
        shares[rows] = (event_angles[:, block_labels] <= angles[bins]).mean(axis=0)
    return shares


def _drop_unprofitable(directions: Matrix, labels: Rows, savings: Floats) -> tuple[Matrix, Rows]:
    """Return the directions of the clusters that save more than they cost, and new labels of balls.

    `savings` has for each ball the cost that it saves in its cluster. A ball that saves nothing is
    removed from its cluster before the savings of the cluster are computed.
    """
    labels = np.where(savings > 0, labels, UNCLUSTERED)
    is_clustered = labels != UNCLUSTERED
    cluster_savings = np.bincount(labels[is_clustered], savings[is_clustered], len(directions))
    is_kept = cluster_savings > _scan_cost(directions.shape[1])
    new_labels = np.where(is_kept, np.cumsum(is_kept) - 1, UNCLUSTERED)
    labels[is_clustered] = new_labels[labels[is_clustered]]
    return directions[is_kept], labels
