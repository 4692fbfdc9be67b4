"""Balls of one vector attribute in clusters, so that an event is compared with few of them.

An event's products with the directions of all clusters tell which clusters it can be in a ball of;
its products with their members then propose balls. Balls that no cluster suits are compared with
every event in one matrix product, first in few dimensions where that tells enough (see
`covey.index.segment.balls.ball_clustering`). What is proposed is decided by Spark's own arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from itertools import chain, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey.geometry.distances import Metric, relative_error_bound, score_pairs
from covey.index.kernels.ball_products import (
    confirm_products,
    find_near_members,
    mark_admitted,
    mark_reached,
)
from covey.index.segment.balls.ball_clustering import (
    MAX_SAMPLE,
    UNCLUSTERED,
    BallBatch,
    choose_clusters,
    choose_sketch_basis,
    compute_sketches,
)
from covey.index.segment.balls.ball_demands import (
    MAX_NORM,
    Floats,
    Keys,
    Matrix,
    bound_product_error,
    choose_norm_edges,
    compute_norms,
    compute_orthogonal_part,
    compute_reach_angles,
    find_norm_bins,
    is_plain,
)
from covey.index.segment.query.pair_buffer import check_max_pairs
from covey.space.keys import encode_floats, key_domain
from covey.space.types import FLOAT

__all__ = ["BallClusters"]

Rows = NDArray[np.int64]
RowPairs = tuple[Rows, Rows]

_EVENTS_PER_BLOCK = 512  # at once, in matrix products
_BALLS_PER_BLOCK = 2048
_EVENTS_PER_SORT = 16384  # events whose clusters are put in order together
_MEMBERS_PER_BLOCK = 1 << 24  # members of clusters at once
_MAX_CANDIDATE_SHARE = 0.1  # of balls: where more are near, all are compared, which costs no more


@dataclass(frozen=True, slots=True)
class BallClusters:
    """Balls of one vector attribute, stored so that near ones are together.

    Row i of `centres` is that of the ball `order[i]` as it was given. First come the clusters
    (cluster k from `starts[k]` to `starts[k + 1]`), then balls that are compared with every event,
    then those whose centres are no plain vectors (NaN, infinite, of norms that float32 does not
    square well).

    Cost: 49 bytes a ball beside its centre, 4 · length a cluster; where sketches pay, at most half
    of their centres again. Vectors that are not plain are tried ball by ball, which takes
    milliseconds each. Wrong choice for less than a few hundred balls: try them all.

    >>> near = BallClusters.build(
    ...     np.uint8([Metric.L2] * 2), np.float32([[0, 1], [1, 0]]), np.int64([0, 0]),
    ...     encode_floats(np.float32([0.5, 0.5])),
    ... )
    >>> [rows.tolist() for rows in near.find_containing(np.float32([[1, 0], [0, 1.5]]))]
    [[0, 1], [1, 0]]
    """

    order: Rows
    metrics: NDArray[np.uint8]
    centres: Matrix
    lower: Keys
    upper: Keys
    demands: Matrix  # of `covey.index.segment.balls.ball_demands`
    starts: Rows
    directions: Matrix
    edges: Floats  # of bins of norms
    limits: Matrix  # the least cosine at which each cluster is reached, a row a bin
    points: Matrix  # members of clusters in the half plane of their direction
    basis: Floats
    sketches: Matrix  # of balls that are compared with every event; none, or all of them

    @classmethod
    def build(
        cls, metrics: NDArray[np.uint8], centres: Matrix, lower: Keys, upper: Keys, *, seed: int = 0
    ) -> BallClusters:
        """From one ball a row, as in `Balls`: its centre and the keys of scores that it admits.

        Cost: some seconds for 100,000 balls of 384 dimensions; twice the centres in memory.
        """
        random = np.random.default_rng(seed)
        shapes = BallBatch.from_balls(metrics, centres, lower, upper)
        plain = np.flatnonzero(is_plain(shapes.norms))
        edges = choose_norm_edges(shapes.norms[plain])
        labels = np.full(len(shapes), UNCLUSTERED)
        fit = plain[shapes.norms[plain] > 0]
        all_fit = shapes if len(fit) == len(shapes) else shapes.take(fit)
        directions, labels[fit] = choose_clusters(all_fit, edges, random)
        wide = plain[labels[plain] == UNCLUSTERED]
        sample = shapes.take(random.permutation(wide)[:MAX_SAMPLE])
        basis, _ = choose_sketch_basis(sample, len(wide), random)
        return cls.from_assignment(shapes, edges, directions, labels, basis)

    @classmethod
    def from_assignment(
        cls, batch: BallBatch, edges: Floats, directions: Matrix, labels: Rows, basis: Floats
    ) -> BallClusters:
        """With given clusters and dimensions of sketches, whether they are good ones or not."""
        count = len(directions)
        labels = np.where((labels == UNCLUSTERED) | (batch.norms == 0), count, labels)
        labels = np.where(is_plain(batch.norms), labels, count + 1)
        order = np.argsort(labels, kind="stable")
        starts = np.searchsorted(labels[order], np.arange(count + 2))
        ordered = batch.take(order)
        inside, wide = slice(0, starts[count]), slice(starts[count], starts[count + 1])
        points, limits = _project_members(ordered, labels[order[inside]], directions, edges)
        sketches = np.empty((0, basis.shape[1] + 1), np.float32)
        if basis.shape[1]:
            sketches = compute_sketches(ordered.centres[wide], ordered.norms[wide], basis)
            sketches[:, :-1] *= ordered.demands[0, wide, None]
        return cls(
            order, ordered.metrics, ordered.centres, ordered.lower, ordered.upper, ordered.demands,
            starts, directions, edges, limits, points, basis, sketches,
        )  # fmt: skip

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> BallClusters:
        """What `to_arrays` gave; they may be mapped and read-only."""
        return cls(**{field.name: arrays[field.name] for field in fields(cls)})

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """All there is, by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __len__(self) -> int:
        return len(self.order)

    def propose(self, vectors: Matrix) -> RowPairs:
        """Pairs of a vector and a ball: all that hold, and few that do not.

        A vector and a centre that both are not finite are a pair, since they may be the same point.
        """
        events, places = self._propose_pairs(np.ascontiguousarray(vectors))
        return events, self.order[places]

    def find_containing(self, vectors: Matrix, *, max_pairs: int | None = None) -> RowPairs:
        """Pairs of a vector and a ball whose scores hold its score, exactly as Spark would say.

        Raises `ResultTooLargeError` if more than `max_pairs` are proposed.
        """
        vectors = np.ascontiguousarray(vectors)
        events, places = self._propose_pairs(vectors, max_pairs)
        held = self._verify_pairs(vectors, events, places)
        return events[held], self.order[places[held]]

    def _verify_pairs(self, vectors: Matrix, events: Rows, ordinals: Rows) -> NDArray[np.bool_]:
        scores, defined = score_pairs(self.metrics, vectors, events, self.centres, ordinals)
        keys = encode_floats(scores)
        held: NDArray[np.bool_] = (self.lower[ordinals] <= keys) & (keys <= self.upper[ordinals])
        return held & defined

    def _propose_pairs(self, vectors: Matrix, max_pairs: int | None = None) -> RowPairs:
        """What is proposed, balls as their ordinals here."""
        norms = compute_norms(vectors)
        plain = is_plain(norms)
        usual = np.flatnonzero(plain)
        asked = _VectorQuery.from_vectors(
            vectors if plain.all() else vectors[usual], norms[usual], self.edges
        )
        found, total = [(usual[:0], usual[:0])], 0
        nearby = ((usual[events], places) for events, places in self._propose_plain(asked))
        for events, places in chain(nearby, self._verify_irregular(vectors, norms, plain)):
            total += len(events)
            check_max_pairs(total, max_pairs)
            found.append((events, places))
        events, places = map(np.concatenate, zip(*found, strict=True))
        return events, places

    def _propose_plain(self, query: _VectorQuery) -> Iterator[RowPairs]:
        clustered, wide = self.starts[-2:].tolist()
        for start in range(0, len(query.norms), _EVENTS_PER_SORT):
            hits = []
            for first in range(
                start, min(start + _EVENTS_PER_SORT, len(query.norms)), _EVENTS_PER_BLOCK
            ):
                rows = slice(first, min(first + _EVENTS_PER_BLOCK, start + _EVENTS_PER_SORT))
                if clustered:
                    hit = self._find_reached_clusters(query, rows)
                    looked = np.diff(self.starts)[hit[1]].sum()
                    if looked < _MAX_CANDIDATE_SHARE * clustered * len(query.norms[rows]):
                        hits.append(hit)
                    else:
                        yield from self._compare_products(query, rows, 0, clustered)
                scan = self._compare_sketches if self.basis.shape[1] else self._compare_products
                yield from scan(query, rows, clustered, wide)
            if hits:
                yield from self._propose_members(
                    query, *map(np.concatenate, zip(*hits, strict=True))
                )

    def _find_reached_clusters(self, query: _VectorQuery, rows: slice) -> Any:
        """Events, the clusters they reach, and how far they follow the direction of each."""
        along = query.vectors[rows] @ self.directions.T
        marks = mark_reached(along, query.norms[rows], query.bins[rows], self.limits)
        events, clusters = _find_marked(marks)
        return events + rows.start, clusters, along[events, clusters]

    def _propose_members(
        self, query: _VectorQuery, events: Rows, clusters: Rows, along: Matrix
    ) -> Iterator[RowPairs]:
        """Members of clusters that the events are near to."""
        by = np.argsort(clusters.astype(np.uint16), kind="stable")  # few bits sort faster
        events, clusters, along = events[by], clusters[by], along[by]
        beside = compute_orthogonal_part(
            along, query.exact_norms[events], bound_product_error(self.centres.shape[1])
        )
        sizes = np.diff(self.starts)[clusters]
        before = np.cumsum(sizes) - sizes
        cuts = np.searchsorted(before, np.arange(0, sizes.sum(), _MEMBERS_PER_BLOCK))
        for low, high in pairwise([*cuts, len(events)]):
            some = slice(low, high)
            near = find_near_members(
                events[some], clusters[some], along[some], beside[some], query.norms, query.halves,
                self.starts, self.points, self.demands,
            )  # fmt: skip
            yield self._confirm_products(query, *near)

    def _compare_products(
        self, query: _VectorQuery, rows: slice, first: int, stop: int
    ) -> Iterator[RowPairs]:
        """By all products of some events with a range of balls."""
        for low in range(first, stop, _BALLS_PER_BLOCK):
            balls = slice(low, min(low + _BALLS_PER_BLOCK, stop))
            products = query.vectors[rows] @ self.centres[balls].T
            marks = mark_admitted(
                products, *self.demands[:, balls], query.norms[rows], query.halves[rows]
            )
            events, places = _find_marked(marks)
            yield events + rows.start, places + low

    def _compare_sketches(
        self, query: _VectorQuery, rows: slice, first: int, stop: int
    ) -> Iterator[RowPairs]:
        """By products of sketches, then of the few that are left."""
        mine = compute_sketches(query.vectors[rows], query.exact_norms[rows], self.basis)
        ones = np.ones(_BALLS_PER_BLOCK, np.float32)
        for low in range(first, stop, _BALLS_PER_BLOCK):
            balls = slice(low, min(low + _BALLS_PER_BLOCK, stop))
            products = mine @ self.sketches[low - first : balls.stop - first].T
            marks = mark_admitted(
                products, ones, *self.demands[1:, balls], query.norms[rows], query.halves[rows]
            )
            if np.count_nonzero(marks) < _MAX_CANDIDATE_SHARE * marks.size:
                events, places = _find_marked(marks)
                yield self._confirm_products(query, events + rows.start, places + low)
            else:
                yield from self._compare_products(query, rows, low, balls.stop)

    def _confirm_products(self, query: _VectorQuery, events: Rows, ordinals: Rows) -> RowPairs:
        held = confirm_products(
            query.vectors, events, self.centres, ordinals, self.demands, query.norms, query.halves
        )
        return events[held], ordinals[held]

    def _verify_irregular(
        self, vectors: Matrix, norms: Floats, plain: NDArray[np.bool_]
    ) -> Iterator[RowPairs]:
        """Where the vector or the centre is no plain one, by Spark's arithmetic."""
        usual, odd = np.flatnonzero(plain), np.arange(self.starts[-1], len(self))
        holed = ~np.isfinite(self.centres[self.starts[-1] :]).all(axis=1)
        for event in np.flatnonzero(~plain):
            places = np.concatenate([np.flatnonzero(self._may_contain(norms[event])), odd])
            held = self._verify_pairs(vectors, np.full(len(places), event), places)
            if not np.isfinite(norms[event]):
                held[len(places) - len(odd) :] |= holed
            yield np.full(held.sum(), event), places[held]
        for place in odd:
            held = self._verify_pairs(vectors, usual, np.full(len(usual), place))
            yield usual[held], np.full(held.sum(), place)

    def _may_contain(self, norm: float) -> NDArray[np.bool_]:
        """Which balls of plain centres may hold a vector of a norm that is not plain."""
        upper, metrics = self.upper[: self.starts[-1]], self.metrics[: self.starts[-1]]
        if not np.isfinite(norm):  # nor is any score
            return np.asarray(upper >= key_domain(FLOAT).high - 1)
        nearest = max(0.0, norm - MAX_NORM) * (1 - relative_error_bound(self.centres.shape[1]))
        with np.errstate(over="ignore"):
            key = encode_floats(np.array([nearest], np.float32))[0] - 1
        return np.asarray((metrics != Metric.L2) | (upper >= key))


@dataclass(frozen=True, slots=True)
class _VectorQuery:
    """Plain vectors and what demands need of them."""

    vectors: Matrix
    exact_norms: Floats
    norms: Matrix
    halves: Matrix
    bins: Rows

    @classmethod
    def from_vectors(cls, vectors: Matrix, norms: Floats, edges: Floats) -> _VectorQuery:
        singles, halves = norms.astype(np.float32), (norms**2 / 2).astype(np.float32)
        return cls(vectors, norms, singles, halves, find_norm_bins(norms, edges))


def _find_marked(marks: NDArray[np.bool_]) -> RowPairs:
    """Rows and columns of marks."""
    events, places = np.divmod(np.flatnonzero(marks), marks.shape[1])
    return events, places


def _project_members(
    ordered: BallBatch, labels: Rows, directions: Matrix, edges: Floats
) -> tuple[Matrix, Matrix]:
    """Members of clusters as points of half planes, and the least cosines that reach clusters."""
    count, length = len(labels), directions.shape[1]
    points = np.empty((2, count), np.float32)
    reach = np.full((len(edges) + 1, len(directions)), -np.pi)
    for start in range(0, count, _BALLS_PER_BLOCK):
        some = slice(start, min(start + _BALLS_PER_BLOCK, count))
        norms, mine = ordered.norms[some], labels[some]
        along = ordered.demands[0, some] * np.einsum(
            "ij,ij->i", ordered.centres[some], directions[mine], dtype=np.float64
        )
        points[0, some], points[1, some] = along, compute_orthogonal_part(along, norms, 2.0**-21)
        away = np.arccos(np.clip(along / norms, -1, 1))
        angles = compute_reach_angles(ordered.demands[:, some], norms, edges)
        for i, angle in enumerate(angles):
            np.maximum.at(reach[i], mine, np.where(angle < 0, -np.pi, away + angle))
    cosines = np.where(reach < 0, 2.0, np.cos(np.minimum(reach, np.pi))) - bound_product_error(
        length
    )
    limits = np.where(reach >= np.pi, -2.0, cosines - 2.0**-21)
    return points, limits.astype(np.float32)
