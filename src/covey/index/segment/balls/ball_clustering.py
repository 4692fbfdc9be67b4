"""Which balls to keep in clusters, and which to compare with every event: by what either costs.

A cluster is a direction. An event looks only at clusters whose direction it follows far enough to
be in one of their balls, so a ball in a cluster costs nothing but to the events that reach it. How
many those are is counted on centres taken as events. A ball that too many reach is cheaper
compared with all events at once, and so is a cluster that saves less than its direction costs:
where balls form no clusters, none are made.

A sketch is a vector in few dimensions, those that hold most of the centres' lengths, and the
length of what is left out: products of sketches are never less than those of the vectors. It makes
comparing with every event cheaper where centres have low rank, or nearly so.

Costs are counted in multiplications and additions of a large matrix product.
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
"""The label of a ball that is in no cluster."""
MAX_SAMPLE = 16384
"""Balls that are looked at before all are."""
_MIN_BALLS = 256  # balls that are worth a thought
_LEADER_COSINES = (0.35, 0.5, 0.65, 0.75, 0.85, 0.95)  # cosines within which a leader takes others
_MAX_EVENTS = 256
_ROWS_PER_BLOCK = 1024  # at once
_SKETCH_SIZES = (1 / 16, 1 / 8, 3 / 16, 1 / 4, 5 / 16, 3 / 8, 1 / 2)  # of sketches, of the length
_MAX_COST_SHARE = 0.8  # a sketch must save a fifth


@dataclass(frozen=True, slots=True)
class BallBatch:
    """Balls with their norms and demands, one a row; demands are columns."""

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
        """From balls as `BallClusters.build` is given them."""
        norms = compute_norms(centres)
        demands = compute_demands(metrics, norms, lower, upper, centres.shape[1])
        return cls(metrics, centres, lower, upper, norms, demands)

    def __len__(self) -> int:
        return len(self.norms)

    def take(self, rows: Rows) -> BallBatch:
        """The given balls in the given order."""
        return BallBatch(
            self.metrics[rows], self.centres[rows], self.lower[rows], self.upper[rows],
            self.norms[rows], np.take(self.demands, rows, axis=1),
        )  # fmt: skip

    def sample(self, count: int, random: np.random.Generator) -> BallBatch:
        """So many of them, or all, in any order."""
        return self.take(random.permutation(len(self))[:count])

    def unit_directions(self, start: int, stop: int) -> Matrix:
        """The directions in which balls lie: towards their centres, or away from them."""
        scales = self.demands[0, start:stop] / np.maximum(self.norms[start:stop], 1e-30)
        units: Matrix = self.centres[start:stop] * scales[:, None].astype(np.float32)
        return units


def choose_clusters(
    batch: BallBatch, edges: Floats, random: np.random.Generator
) -> tuple[Matrix, Rows]:
    """Directions of clusters, and the cluster of each ball or `UNCLUSTERED`; no norm is zero.

    Cost: a matrix product of balls and directions, and about as much for the choice.
    """
    length = batch.centres.shape[1]
    best, saved = np.empty((0, length), np.float32), 0.0
    if len(batch) < _MIN_BALLS:
        return best, np.full(len(batch), UNCLUSTERED)
    sample = batch.sample(MAX_SAMPLE, random)
    judging, leading = np.split(np.arange(len(sample)), [len(sample) // 4])
    judges, leads = sample.take(judging), sample.take(leading)
    scanned = choose_sketch_basis(judges, len(batch), random)[1]
    events = judges.sample(_MAX_EVENTS, random)

    def savings(balls: BallBatch, directions: Matrix, labels: Rows) -> Floats:
        return scanned - _pair_cost(length) * _measure_reach(
            balls, directions, labels, events, edges
        )

    for lead in _LEADER_COSINES:
        directions = _pick_leaders(leads, lead, len(leads) // 4)
        paid = len(directions) * _scan_cost(length)
        if len(batch) * scanned - paid <= saved:
            break
        directions = _average_directions(leads, _assign_nearest(leads, directions), directions)
        each = savings(judges, directions, _assign_nearest(judges, directions))
        total = float(np.maximum(each, 0).mean()) * len(batch) - paid
        if total > saved:
            best, saved = directions, total
    if not saved:
        return best, np.full(len(batch), UNCLUSTERED)
    labels = _assign_nearest(batch, best)
    best = _average_directions(batch, labels, best)
    return _drop_unprofitable(best, labels, savings(batch, best, labels))


def choose_sketch_basis(
    batch: BallBatch, ball_count: int, random: np.random.Generator
) -> tuple[Floats, float]:
    """The dimensions of sketches for so many balls like these, and what one costs an event.

    No dimensions if plain products cost less.
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
    with np.errstate(over="ignore", invalid="ignore"):  # some demand nothing at all
        needed = square * (norms**2 / 2) + linear * norms + constant
    for share in _SKETCH_SIZES:
        size = max(1, int(share * length) - 1)  # with what is left out, a round number
        theirs = compute_sketches(balls.centres, balls.norms, axes[:, :size])
        theirs[:, :-1] *= sign[:, None]
        products = compute_sketches(events.centres, events.norms, axes[:, :size]) @ theirs.T
        left = float((products >= needed).mean())
        taken = _scan_cost(size + 1) + left * _pair_cost(length) + 4 * size * length / ball_count
        if taken < min(cost, _MAX_COST_SHARE * _scan_cost(length)):
            basis, cost = np.ascontiguousarray(axes[:, :size]), taken
    return basis, cost


def compute_sketches(vectors: Matrix, norms: Floats, basis: Floats) -> Matrix:
    """Sketches of vectors in the dimensions of `basis`, a row each."""
    sketches = np.empty((len(vectors), basis.shape[1] + 1), np.float32)
    for start in range(0, len(vectors), _ROWS_PER_BLOCK):
        rows = slice(start, start + _ROWS_PER_BLOCK)
        held = vectors[rows].astype(np.float64) @ basis
        left = norms[rows] ** 2 - np.einsum("ij,ij->i", held, held)
        sketches[rows, :-1] = held
        sketches[rows, -1] = np.sqrt(np.maximum(left, 0)) + 2e-7 * norms[rows]
    return sketches


def _scan_cost(length: int) -> float:
    """What an inner product in a large matrix costs, with a look at it."""
    return length + 10.0


def _pair_cost(length: int) -> float:
    """What an inner product of its own costs, most of it for fetching both vectors."""
    return 8.0 * length


def _pick_leaders(batch: BallBatch, max_cosine: float, max_leaders: int) -> Matrix:
    """Directions of which no two have `max_cosine` or more, and each ball's near to one of them."""
    leaders = np.empty((max_leaders, batch.centres.shape[1]), np.float32)
    count = 0
    for start in range(0, len(batch), 256):
        units = batch.unit_directions(start, start + 256)
        units = units[(units @ leaders[:count].T).max(axis=1, initial=-1) < max_cosine]
        cosines = units @ units.T
        chosen: list[int] = []
        for i in range(len(units)):
            if cosines[i, chosen].max(initial=-1) < max_cosine:
                chosen.append(i)
        chosen = chosen[: max_leaders - count]
        leaders[count : count + len(chosen)] = units[chosen]
        count += len(chosen)
    return leaders[:count]


def _assign_nearest(batch: BallBatch, directions: Matrix) -> Rows:
    """The direction nearest to each ball's."""
    labels = np.empty(len(batch), np.int64)
    for start in range(0, len(batch), _ROWS_PER_BLOCK):
        cosines = batch.unit_directions(start, start + _ROWS_PER_BLOCK) @ directions.T
        labels[start : start + _ROWS_PER_BLOCK] = cosines.argmax(axis=1)
    return labels


def _average_directions(batch: BallBatch, labels: Rows, directions: Matrix) -> Matrix:
    """The middle of each cluster; where it has none, the direction as it was."""
    sums = np.zeros(directions.shape, np.float32)
    for start in range(0, len(batch), _ROWS_PER_BLOCK):
        np.add.at(
            sums,
            labels[start : start + _ROWS_PER_BLOCK],
            batch.unit_directions(start, start + _ROWS_PER_BLOCK),
        )
    lengths = np.linalg.norm(sums.astype(np.float64), axis=1)[:, None]
    middles = np.where(lengths > 1e-3, sums / np.maximum(lengths, 1e-3), directions)
    return middles.astype(np.float32)


def _measure_reach(
    batch: BallBatch, directions: Matrix, labels: Rows, events: BallBatch, edges: Floats
) -> Floats:
    """The share of events that reach each ball, as seen from the direction of its cluster."""
    cosines = events.centres @ directions.T / events.norms[:, None]
    seen = np.arccos(np.clip(cosines, -1, 1)).astype(np.float32)
    bins = find_norm_bins(events.norms, edges)
    shares = np.empty(len(batch))
    for start in range(0, len(batch), _ROWS_PER_BLOCK):
        rows = slice(start, start + _ROWS_PER_BLOCK)
        mine = labels[rows]
        cosines = np.einsum(
            "ij,ij->i", batch.unit_directions(start, start + _ROWS_PER_BLOCK), directions[mine]
        )
        angles = compute_reach_angles(batch.demands[:, rows], batch.norms[rows], edges)
        angles += np.arccos(np.clip(cosines, -1, 1))
        shares[rows] = (seen[:, mine] <= angles[bins]).mean(axis=0)
    return shares


def _drop_unprofitable(directions: Matrix, labels: Rows, savings: Floats) -> tuple[Matrix, Rows]:
    """Without the balls, and then the clusters, that save nothing."""
    labels = np.where(savings > 0, labels, UNCLUSTERED)
    inside = labels != UNCLUSTERED
    each = np.bincount(labels[inside], savings[inside], len(directions))
    kept = each > _scan_cost(directions.shape[1])
    numbers = np.where(kept, np.cumsum(kept) - 1, UNCLUSTERED)
    labels[inside] = numbers[labels[inside]]
    return directions[kept], labels
