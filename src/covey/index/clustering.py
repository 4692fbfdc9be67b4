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

from covey.index.angles import Floats, Keys, Matrix, angles_of, bins_of, demands_of, norms_of

__all__ = ["SAMPLE", "WIDE", "Shapes", "clusters_of", "sketch_basis", "sketches_of"]

Rows = NDArray[np.int64]

WIDE = -1
"""The label of a ball that is in no cluster."""
SAMPLE = 16384
"""Balls that are looked at before all are."""
_FEWEST = 256  # balls that are worth a thought
_LEADS = (0.35, 0.5, 0.65, 0.75, 0.85, 0.95)  # cosines within which a leader takes others
_EVENTS = 256
_ROWS = 1024  # at once
_SIZES = (1 / 16, 1 / 8, 3 / 16, 1 / 4, 5 / 16, 3 / 8, 1 / 2)  # of sketches, of the length
_WORTH = 0.8  # a sketch must save a fifth


@dataclass(frozen=True, slots=True)
class Shapes:
    """Balls with their norms and demands, one a row; demands are columns."""

    metrics: NDArray[np.uint8]
    centres: Matrix
    lower: Keys
    upper: Keys
    norms: Floats
    demands: Matrix

    @classmethod
    def of(cls, metrics: NDArray[np.uint8], centres: Matrix, lower: Keys, upper: Keys) -> Shapes:
        """From balls as `Clusters.build` is given them."""
        norms = norms_of(centres)
        demands = demands_of(metrics, norms, lower, upper, centres.shape[1])
        return cls(metrics, centres, lower, upper, norms, demands)

    def __len__(self) -> int:
        return len(self.norms)

    def take(self, rows: Rows) -> Shapes:
        """The given balls in the given order."""
        return Shapes(
            self.metrics[rows], self.centres[rows], self.lower[rows], self.upper[rows],
            self.norms[rows], np.take(self.demands, rows, axis=1),
        )  # fmt: skip

    def some(self, count: int, random: np.random.Generator) -> Shapes:
        """So many of them, or all, in any order."""
        return self.take(random.permutation(len(self))[:count])

    def units(self, start: int, stop: int) -> Matrix:
        """The directions in which balls lie: towards their centres, or away from them."""
        scales = self.demands[0, start:stop] / np.maximum(self.norms[start:stop], 1e-30)
        units: Matrix = self.centres[start:stop] * scales[:, None].astype(np.float32)
        return units


def clusters_of(shapes: Shapes, edges: Floats, random: np.random.Generator) -> tuple[Matrix, Rows]:
    """Directions of clusters, and the cluster of each ball or `WIDE`; no norm is zero.

    Cost: a matrix product of balls and directions, and about as much for the choice.
    """
    length = shapes.centres.shape[1]
    best, saved = np.empty((0, length), np.float32), 0.0
    if len(shapes) < _FEWEST:
        return best, np.full(len(shapes), WIDE)
    sample = shapes.some(SAMPLE, random)
    judging, leading = np.split(np.arange(len(sample)), [len(sample) // 4])
    judges, leads = sample.take(judging), sample.take(leading)
    scanned = sketch_basis(judges, len(shapes), random)[1]
    events = judges.some(_EVENTS, random)

    def savings(balls: Shapes, directions: Matrix, labels: Rows) -> Floats:
        return scanned - _pair(length) * _reached(balls, directions, labels, events, edges)

    for lead in _LEADS:
        directions = _leaders(leads, lead, len(leads) // 4)
        paid = len(directions) * _looked(length)
        if len(shapes) * scanned - paid <= saved:
            break
        directions = _middles(leads, _nearest(leads, directions), directions)
        each = savings(judges, directions, _nearest(judges, directions))
        total = float(np.maximum(each, 0).mean()) * len(shapes) - paid
        if total > saved:
            best, saved = directions, total
    if not saved:
        return best, np.full(len(shapes), WIDE)
    labels = _nearest(shapes, best)
    best = _middles(shapes, labels, best)
    return _paying(best, labels, savings(shapes, best, labels))


def sketch_basis(shapes: Shapes, count: int, random: np.random.Generator) -> tuple[Floats, float]:
    """The dimensions of sketches for `count` balls like these, and what each ball costs an event.

    No dimensions if plain products cost less.
    """
    length = shapes.centres.shape[1]
    basis, cost = np.empty((length, 0)), _looked(length)
    if len(shapes) < _FEWEST:
        return basis, cost
    moments = shapes.centres.T.astype(np.float64) @ shapes.centres
    axes = np.linalg.eigh(moments)[1][:, ::-1]
    events, balls = shapes.some(_EVENTS, random), shapes.some(SAMPLE // 4, random)
    norms = events.norms.astype(np.float32)[:, None]
    sign, square, linear, constant = balls.demands
    with np.errstate(over="ignore", invalid="ignore"):  # some demand nothing at all
        needed = square * (norms**2 / 2) + linear * norms + constant
    for share in _SIZES:
        size = max(1, int(share * length) - 1)  # with what is left out, a round number
        theirs = sketches_of(balls.centres, balls.norms, axes[:, :size])
        theirs[:, :-1] *= sign[:, None]
        products = sketches_of(events.centres, events.norms, axes[:, :size]) @ theirs.T
        left = float((products >= needed).mean())
        taken = _looked(size + 1) + left * _pair(length) + 4 * size * length / count
        if taken < min(cost, _WORTH * _looked(length)):
            basis, cost = np.ascontiguousarray(axes[:, :size]), taken
    return basis, cost


def sketches_of(vectors: Matrix, norms: Floats, basis: Floats) -> Matrix:
    """Sketches of vectors in the dimensions of `basis`, a row each."""
    sketches = np.empty((len(vectors), basis.shape[1] + 1), np.float32)
    for start in range(0, len(vectors), _ROWS):
        rows = slice(start, start + _ROWS)
        held = vectors[rows].astype(np.float64) @ basis
        left = norms[rows] ** 2 - np.einsum("ij,ij->i", held, held)
        sketches[rows, :-1] = held
        sketches[rows, -1] = np.sqrt(np.maximum(left, 0)) + 2e-7 * norms[rows]
    return sketches


def _looked(length: int) -> float:
    """What an inner product in a large matrix costs, with a look at it."""
    return length + 10.0


def _pair(length: int) -> float:
    """What an inner product of its own costs, most of it for fetching both vectors."""
    return 8.0 * length


def _leaders(shapes: Shapes, lead: float, most: int) -> Matrix:
    """Directions no two of which are as near as `lead`, and each ball's near to one of them."""
    leaders = np.empty((most, shapes.centres.shape[1]), np.float32)
    count = 0
    for start in range(0, len(shapes), 256):
        units = shapes.units(start, start + 256)
        units = units[(units @ leaders[:count].T).max(axis=1, initial=-1) < lead]
        cosines = units @ units.T
        chosen: list[int] = []
        for i in range(len(units)):
            if cosines[i, chosen].max(initial=-1) < lead:
                chosen.append(i)
        chosen = chosen[: most - count]
        leaders[count : count + len(chosen)] = units[chosen]
        count += len(chosen)
    return leaders[:count]


def _nearest(shapes: Shapes, directions: Matrix) -> Rows:
    """The direction nearest to each ball's."""
    labels = np.empty(len(shapes), np.int64)
    for start in range(0, len(shapes), _ROWS):
        cosines = shapes.units(start, start + _ROWS) @ directions.T
        labels[start : start + _ROWS] = cosines.argmax(axis=1)
    return labels


def _middles(shapes: Shapes, labels: Rows, directions: Matrix) -> Matrix:
    """The middle of each cluster; where it has none, the direction as it was."""
    sums = np.zeros(directions.shape, np.float32)
    for start in range(0, len(shapes), _ROWS):
        np.add.at(sums, labels[start : start + _ROWS], shapes.units(start, start + _ROWS))
    lengths = np.linalg.norm(sums.astype(np.float64), axis=1)[:, None]
    middles = np.where(lengths > 1e-3, sums / np.maximum(lengths, 1e-3), directions)
    return middles.astype(np.float32)


def _reached(
    shapes: Shapes, directions: Matrix, labels: Rows, events: Shapes, edges: Floats
) -> Floats:
    """The share of events that reach each ball, as seen from the direction of its cluster."""
    cosines = events.centres @ directions.T / events.norms[:, None]
    seen = np.arccos(np.clip(cosines, -1, 1)).astype(np.float32)
    bins = bins_of(events.norms, edges)
    shares = np.empty(len(shapes))
    for start in range(0, len(shapes), _ROWS):
        rows = slice(start, start + _ROWS)
        mine = labels[rows]
        cosines = np.einsum("ij,ij->i", shapes.units(start, start + _ROWS), directions[mine])
        angles = angles_of(shapes.demands[:, rows], shapes.norms[rows], edges)
        angles += np.arccos(np.clip(cosines, -1, 1))
        shares[rows] = (seen[:, mine] <= angles[bins]).mean(axis=0)
    return shares


def _paying(directions: Matrix, labels: Rows, savings: Floats) -> tuple[Matrix, Rows]:
    """Without the balls, and then the clusters, that save nothing."""
    labels = np.where(savings > 0, labels, WIDE)
    inside = labels != WIDE
    each = np.bincount(labels[inside], savings[inside], len(directions))
    kept = each > _looked(directions.shape[1])
    numbers = np.where(kept, np.cumsum(kept) - 1, WIDE)
    labels[inside] = numbers[labels[inside]]
    return directions[kept], labels
