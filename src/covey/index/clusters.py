"""Balls of one vector attribute in clusters, so that an event is compared with few of them.

An event's products with the directions of all clusters tell which clusters it can be in a ball of;
its products with their members then propose balls. Balls that no cluster suits are compared with
every event in one matrix product, first in few dimensions where that tells enough (see
`covey.index.clustering`). What is proposed is decided by Spark's own arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from itertools import chain, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey.geometry.distances import Metric, relative_error, score_pairs
from covey.index.angles import (
    LARGEST,
    Floats,
    Keys,
    Matrix,
    across,
    angles_of,
    bins_of,
    is_plain,
    norm_edges,
    norms_of,
    product_error,
)
from covey.index.clustering import SAMPLE, WIDE, Shapes, clusters_of, sketch_basis, sketches_of
from covey.index.kernels.products import admitted, confirmed, reached, within
from covey.index.scratch import check_bound
from covey.space.keys import domain, float_key
from covey.space.types import FLOAT

__all__ = ["Clusters"]

Rows = NDArray[np.int64]
Pairs = tuple[Rows, Rows]

_EVENTS = 512  # at once, in matrix products
_BALLS = 2048
_SORTED = 16384  # events whose clusters are put in order together
_LOOKED = 1 << 24  # members of clusters at once
_MOST = 0.1  # of balls: where more are near, all are compared, which costs no more


@dataclass(frozen=True, slots=True)
class Clusters:
    """Balls of one vector attribute, stored so that near ones are together.

    Row i of `centres` is that of the ball `order[i]` as it was given. First come the clusters
    (cluster k from `starts[k]` to `starts[k + 1]`), then balls that are compared with every event,
    then those whose centres are no plain vectors (NaN, infinite, of norms that float32 does not
    square well).

    Cost: 49 bytes a ball beside its centre, 4 · length a cluster; where sketches pay, at most half
    of their centres again. Vectors that are not plain are tried ball by ball, which takes
    milliseconds each. Wrong choice for less than a few hundred balls: try them all.

    >>> near = Clusters.build(
    ...     np.uint8([Metric.L2] * 2), np.float32([[0, 1], [1, 0]]), np.int64([0, 0]),
    ...     float_key(np.float32([0.5, 0.5])),
    ... )
    >>> [rows.tolist() for rows in near.containing(np.float32([[1, 0], [0, 1.5]]))]
    [[0, 1], [1, 0]]
    """

    order: Rows
    metrics: NDArray[np.uint8]
    centres: Matrix
    lower: Keys
    upper: Keys
    demands: Matrix  # of `covey.index.angles`
    starts: Rows
    directions: Matrix
    edges: Floats  # of bins of norms
    limits: Matrix  # the least cosine at which each cluster is reached, a row a bin
    points: Matrix  # members of clusters in the half plane of their direction
    basis: Floats
    sketches: Matrix  # of balls that are compared with every event; none, or all of them

    @classmethod
    def build(
        cls, metrics: NDArray[np.uint8], centres: Matrix, lower: Keys, upper: Keys, seed: int = 0
    ) -> Clusters:
        """From one ball a row, as in `Balls`: its centre and the keys of scores that it admits.

        Cost: some seconds for 100,000 balls of 384 dimensions; twice the centres in memory.
        """
        random = np.random.default_rng(seed)
        shapes = Shapes.of(metrics, centres, lower, upper)
        plain = np.flatnonzero(is_plain(shapes.norms))
        edges = norm_edges(shapes.norms[plain])
        labels = np.full(len(shapes), WIDE)
        fit = plain[shapes.norms[plain] > 0]
        all_fit = shapes if len(fit) == len(shapes) else shapes.take(fit)
        directions, labels[fit] = clusters_of(all_fit, edges, random)
        wide = plain[labels[plain] == WIDE]
        sample = shapes.take(random.permutation(wide)[:SAMPLE])
        basis, _ = sketch_basis(sample, len(wide), random)
        return cls.arranged(shapes, edges, directions, labels, basis)

    @classmethod
    def arranged(
        cls, shapes: Shapes, edges: Floats, directions: Matrix, labels: Rows, basis: Floats
    ) -> Clusters:
        """With given clusters and dimensions of sketches, whether they are good ones or not."""
        count = len(directions)
        labels = np.where((labels == WIDE) | (shapes.norms == 0), count, labels)
        labels = np.where(is_plain(shapes.norms), labels, count + 1)
        order = np.argsort(labels, kind="stable")
        starts = np.searchsorted(labels[order], np.arange(count + 2))
        ordered = shapes.take(order)
        inside, wide = slice(0, starts[count]), slice(starts[count], starts[count + 1])
        points, limits = _seen(ordered, labels[order[inside]], directions, edges)
        sketches = np.empty((0, basis.shape[1] + 1), np.float32)
        if basis.shape[1]:
            sketches = sketches_of(ordered.centres[wide], ordered.norms[wide], basis)
            sketches[:, :-1] *= ordered.demands[0, wide, None]
        return cls(
            order, ordered.metrics, ordered.centres, ordered.lower, ordered.upper, ordered.demands,
            starts, directions, edges, limits, points, basis, sketches,
        )  # fmt: skip

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Clusters:
        """What `arrays` gave; they may be mapped and read-only."""
        return cls(**{field.name: arrays[field.name] for field in fields(cls)})

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All there is, by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __len__(self) -> int:
        return len(self.order)

    def proposed(self, vectors: Matrix) -> Pairs:
        """Pairs of a vector and a ball: all that hold, and few that do not.

        A vector and a centre that both are not finite are a pair, since they may be the same point.
        """
        events, places = self._near(np.ascontiguousarray(vectors))
        return events, self.order[places]

    def containing(self, vectors: Matrix, most: int | None = None) -> Pairs:
        """Pairs of a vector and a ball whose scores hold its score, exactly as Spark would say.

        `TooManyPairs` if more than `most` are proposed.
        """
        vectors = np.ascontiguousarray(vectors)
        events, places = self._near(vectors, most)
        held = self._holds(vectors, events, places)
        return events[held], self.order[places[held]]

    def _holds(self, vectors: Matrix, events: Rows, places: Rows) -> NDArray[np.bool_]:
        scores, defined = score_pairs(self.metrics, vectors, events, self.centres, places)
        keys = float_key(scores)
        held: NDArray[np.bool_] = (self.lower[places] <= keys) & (keys <= self.upper[places])
        return held & defined

    def _near(self, vectors: Matrix, most: int | None = None) -> Pairs:
        """What is proposed, balls as their places here."""
        norms = norms_of(vectors)
        plain = is_plain(norms)
        usual = np.flatnonzero(plain)
        asked = _Asked.of(vectors if plain.all() else vectors[usual], norms[usual], self.edges)
        found, total = [(usual[:0], usual[:0])], 0
        nearby = ((usual[events], places) for events, places in self._near_plain(asked))
        for events, places in chain(nearby, self._one_by_one(vectors, norms, plain)):
            total += len(events)
            check_bound(total, most)
            found.append((events, places))
        events, places = map(np.concatenate, zip(*found, strict=True))
        return events, places

    def _near_plain(self, asked: _Asked) -> Iterator[Pairs]:
        clustered, wide = self.starts[-2:].tolist()
        for start in range(0, len(asked.norms), _SORTED):
            hits = []
            for first in range(start, min(start + _SORTED, len(asked.norms)), _EVENTS):
                rows = slice(first, min(first + _EVENTS, start + _SORTED))
                if clustered:
                    hit = self._reached(asked, rows)
                    looked = np.diff(self.starts)[hit[1]].sum()
                    if looked < _MOST * clustered * len(asked.norms[rows]):
                        hits.append(hit)
                    else:
                        yield from self._compared(asked, rows, 0, clustered)
                scan = self._sketched if self.basis.shape[1] else self._compared
                yield from scan(asked, rows, clustered, wide)
            if hits:
                yield from self._within(asked, *map(np.concatenate, zip(*hits, strict=True)))

    def _reached(self, asked: _Asked, rows: slice) -> Any:
        """Events, the clusters they reach, and how far they follow the direction of each."""
        along = asked.vectors[rows] @ self.directions.T
        marks = reached(along, asked.norms[rows], asked.bins[rows], self.limits)
        events, clusters = _positions(marks)
        return events + rows.start, clusters, along[events, clusters]

    def _within(
        self, asked: _Asked, events: Rows, clusters: Rows, along: Matrix
    ) -> Iterator[Pairs]:
        """Members of clusters that the events are near to."""
        by = np.argsort(clusters.astype(np.uint16), kind="stable")  # few bits sort faster
        events, clusters, along = events[by], clusters[by], along[by]
        beside = across(along, asked.exact[events], product_error(self.centres.shape[1]))
        sizes = np.diff(self.starts)[clusters]
        before = np.cumsum(sizes) - sizes
        cuts = np.searchsorted(before, np.arange(0, sizes.sum(), _LOOKED))
        for low, high in pairwise([*cuts, len(events)]):
            some = slice(low, high)
            near = within(
                events[some], clusters[some], along[some], beside[some], asked.norms, asked.halves,
                self.starts, self.points, self.demands,
            )  # fmt: skip
            yield self._confirmed(asked, *near)

    def _compared(self, asked: _Asked, rows: slice, first: int, stop: int) -> Iterator[Pairs]:
        """By all products of some events with a range of balls."""
        for low in range(first, stop, _BALLS):
            balls = slice(low, min(low + _BALLS, stop))
            products = asked.vectors[rows] @ self.centres[balls].T
            marks = admitted(
                products, *self.demands[:, balls], asked.norms[rows], asked.halves[rows]
            )
            events, places = _positions(marks)
            yield events + rows.start, places + low

    def _sketched(self, asked: _Asked, rows: slice, first: int, stop: int) -> Iterator[Pairs]:
        """By products of sketches, then of the few that are left."""
        mine = sketches_of(asked.vectors[rows], asked.exact[rows], self.basis)
        ones = np.ones(_BALLS, np.float32)
        for low in range(first, stop, _BALLS):
            balls = slice(low, min(low + _BALLS, stop))
            products = mine @ self.sketches[low - first : balls.stop - first].T
            marks = admitted(
                products, ones, *self.demands[1:, balls], asked.norms[rows], asked.halves[rows]
            )
            if np.count_nonzero(marks) < _MOST * marks.size:
                events, places = _positions(marks)
                yield self._confirmed(asked, events + rows.start, places + low)
            else:
                yield from self._compared(asked, rows, low, balls.stop)

    def _confirmed(self, asked: _Asked, events: Rows, places: Rows) -> Pairs:
        held = confirmed(
            asked.vectors, events, self.centres, places, self.demands, asked.norms, asked.halves
        )
        return events[held], places[held]

    def _one_by_one(
        self, vectors: Matrix, norms: Floats, plain: NDArray[np.bool_]
    ) -> Iterator[Pairs]:
        """Where the vector or the centre is no plain one, by Spark's arithmetic."""
        usual, odd = np.flatnonzero(plain), np.arange(self.starts[-1], len(self))
        holed = ~np.isfinite(self.centres[self.starts[-1] :]).all(axis=1)
        for event in np.flatnonzero(~plain):
            places = np.concatenate([np.flatnonzero(self._may(norms[event])), odd])
            held = self._holds(vectors, np.full(len(places), event), places)
            if not np.isfinite(norms[event]):
                held[len(places) - len(odd) :] |= holed
            yield np.full(held.sum(), event), places[held]
        for place in odd:
            held = self._holds(vectors, usual, np.full(len(usual), place))
            yield usual[held], np.full(held.sum(), place)

    def _may(self, norm: float) -> NDArray[np.bool_]:
        """Which balls of plain centres may hold a vector of a norm that is not plain."""
        upper, metrics = self.upper[: self.starts[-1]], self.metrics[: self.starts[-1]]
        if not np.isfinite(norm):  # nor is any score
            return np.asarray(upper >= domain(FLOAT).high - 1)
        nearest = max(0.0, norm - LARGEST) * (1 - relative_error(self.centres.shape[1]))
        with np.errstate(over="ignore"):
            key = float_key(np.array([nearest], np.float32))[0] - 1
        return np.asarray((metrics != Metric.L2) | (upper >= key))


@dataclass(frozen=True, slots=True)
class _Asked:
    """Plain vectors and what demands need of them."""

    vectors: Matrix
    exact: Floats
    norms: Matrix
    halves: Matrix
    bins: Rows

    @classmethod
    def of(cls, vectors: Matrix, norms: Floats, edges: Floats) -> _Asked:
        singles, halves = norms.astype(np.float32), (norms**2 / 2).astype(np.float32)
        return cls(vectors, norms, singles, halves, bins_of(norms, edges))


def _positions(marks: NDArray[np.bool_]) -> Pairs:
    """Rows and columns of marks."""
    events, places = np.divmod(np.flatnonzero(marks), marks.shape[1])
    return events, places


def _seen(
    ordered: Shapes, labels: Rows, directions: Matrix, edges: Floats
) -> tuple[Matrix, Matrix]:
    """Members of clusters as points of half planes, and the least cosines that reach clusters."""
    count, length = len(labels), directions.shape[1]
    points = np.empty((2, count), np.float32)
    reach = np.full((len(edges) + 1, len(directions)), -np.pi)
    for start in range(0, count, _BALLS):
        some = slice(start, min(start + _BALLS, count))
        norms, mine = ordered.norms[some], labels[some]
        along = ordered.demands[0, some] * np.einsum(
            "ij,ij->i", ordered.centres[some], directions[mine], dtype=np.float64
        )
        points[0, some], points[1, some] = along, across(along, norms, 2.0**-21)
        away = np.arccos(np.clip(along / norms, -1, 1))
        angles = angles_of(ordered.demands[:, some], norms, edges)
        for i, angle in enumerate(angles):
            np.maximum.at(reach[i], mine, np.where(angle < 0, -np.pi, away + angle))
    cosines = np.where(reach < 0, 2.0, np.cos(np.minimum(reach, np.pi))) - product_error(length)
    limits = np.where(reach >= np.pi, -2.0, cosines - 2.0**-21)
    return points, limits.astype(np.float32)
