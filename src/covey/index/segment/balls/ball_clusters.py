"""Clusters of the balls of one vector attribute, so that an event is compared with few balls.

The inner products of an event with the directions of all clusters determine the clusters whose
balls may contain the event. The event is then compared with the balls in these clusters. Balls that
are in no cluster are compared with every event in matrix products, first in few dimensions if that
excludes enough pairs (see `covey.index.segment.balls.ball_clustering`). Candidates are verified
with Spark's arithmetic.
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

_EVENTS_PER_BLOCK = 512  # events in one matrix product
_BALLS_PER_BLOCK = 2048  # balls in one matrix product
_EVENTS_PER_SORT = 16384  # events whose clusters are sorted together
_MEMBERS_PER_BLOCK = 1 << 24  # members of clusters that are compared at once
_MAX_CANDIDATE_SHARE = (
    0.1  # share of balls beyond which all balls are compared, which costs no more
)


@dataclass(frozen=True, slots=True)
class BallClusters:
    """Balls of one vector attribute, stored in an order in which similar balls are neighbours.

    Ball `order[i]` of the input is row i of `metrics`, `centres`, `lower` and `upper`, and column i
    of `demands`. First come the clusters (cluster k from `starts[k]` to `starts[k + 1]` - 1), then
    balls that are compared with every event, then balls whose centres are not plain: the centre
    contains NaN or infinity, or `is_plain` is false for its norm.

    Cost: 49 bytes per ball in addition to its centre, and 4 · length bytes per cluster; sketches
    take at most half of the memory of the centres of balls without a cluster. A vector that is not
    plain is compared with each ball, which takes milliseconds. Do not use this class for fewer than
    a few hundred balls: compare each vector with all balls.

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
    demands: Matrix  # see `covey.index.segment.balls.ball_demands`; 4 rows, one column per ball
    starts: Rows
    directions: Matrix
    edges: Floats  # edges of the bins of norms
    limits: Matrix  # lowest cosine at which an event reaches each cluster; one row per bin
    points: Matrix  # members of clusters as points of half planes; 2 rows
    basis: Floats  # dimensions of the sketches; no columns without sketches
    sketches: Matrix  # of the balls that are compared with every event; no rows without sketches

    @classmethod
    def build(
        cls, metrics: NDArray[np.uint8], centres: Matrix, lower: Keys, upper: Keys, *, seed: int = 0
    ) -> BallClusters:
        """Build clusters of balls.

        `lower` and `upper` are the keys of the smallest and the largest score that a ball admits.

        Cost: some seconds for 100,000 balls of 384 dimensions, and twice the memory of the centres.
        """
        random = np.random.default_rng(seed)
        batch = BallBatch.from_balls(metrics, centres, lower, upper)
        plain_rows = np.flatnonzero(is_plain(batch.norms))
        edges = choose_norm_edges(batch.norms[plain_rows])
        labels = np.full(len(batch), UNCLUSTERED)
        nonzero_rows = plain_rows[batch.norms[plain_rows] > 0]
        nonzero_batch = batch if len(nonzero_rows) == len(batch) else batch.take(nonzero_rows)
        directions, labels[nonzero_rows] = choose_clusters(nonzero_batch, edges, random)
        unclustered_rows = plain_rows[labels[plain_rows] == UNCLUSTERED]
        sample = batch.take(random.permutation(unclustered_rows)[:MAX_SAMPLE])
        basis, _ = choose_sketch_basis(sample, len(unclustered_rows), random)
        return cls.from_assignment(batch, edges, directions, labels, basis)

    @classmethod
    def from_assignment(
        cls, batch: BallBatch, edges: Floats, directions: Matrix, labels: Rows, basis: Floats
    ) -> BallClusters:
        """Return balls in clusters that were chosen before.

        Cluster k has the direction `directions[k]` and the balls with label k; `basis` has the
        dimensions of the sketches. Results are exact for every choice of clusters and dimensions;
        only the speed depends on them.
        """
        count = len(directions)
        labels = np.where((labels == UNCLUSTERED) | (batch.norms == 0), count, labels)
        labels = np.where(is_plain(batch.norms), labels, count + 1)
        order = np.argsort(labels, kind="stable")
        starts = np.searchsorted(labels[order], np.arange(count + 2))
        ordered = batch.take(order)
        clustered, unclustered = slice(0, starts[count]), slice(starts[count], starts[count + 1])
        points, limits = _project_members(ordered, labels[order[clustered]], directions, edges)
        sketches = np.empty((0, basis.shape[1] + 1), np.float32)
        if basis.shape[1]:
            sketches = compute_sketches(
                ordered.centres[unclustered], ordered.norms[unclustered], basis
            )
            sketches[:, :-1] *= ordered.demands[0, unclustered, None]
        return cls(
            order, ordered.metrics, ordered.centres, ordered.lower, ordered.upper, ordered.demands,
            starts, directions, edges, limits, points, basis, sketches,
        )  # fmt: skip

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> BallClusters:
        """Return the clusters that `to_arrays` turned into arrays.

        The arrays may be read-only memory maps.
        """
        return cls(**{field.name: arrays[field.name] for field in fields(cls)})

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all arrays by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __len__(self) -> int:
        return len(self.order)

    def propose(self, vectors: Matrix) -> RowPairs:
        """Return candidate pairs of a vector row and a ball.

        These are all pairs whose ball contains the vector, and few others. If neither the vector
        nor the centre of the ball is finite, the pair is a candidate, because both may be the same
        point.
        """
        events, ball_rows = self._propose_pairs(np.ascontiguousarray(vectors))
        return events, self.order[ball_rows]

    def find_containing(self, vectors: Matrix, *, max_pairs: int | None = None) -> RowPairs:
        """Return pairs of a vector row and a ball that contains it, exactly as Spark decides.

        Raises:
            ResultTooLargeError: if more than `max_pairs` pairs are proposed.
        """
        vectors = np.ascontiguousarray(vectors)
        events, ball_rows = self._propose_pairs(vectors, max_pairs)
        is_inside = self._verify_pairs(vectors, events, ball_rows)
        return events[is_inside], self.order[ball_rows[is_inside]]

    def _verify_pairs(self, vectors: Matrix, events: Rows, ordinals: Rows) -> NDArray[np.bool_]:
        """Return for each pair whether the ball contains the vector, with Spark's arithmetic."""
        scores, defined = score_pairs(self.metrics, vectors, events, self.centres, ordinals)
        keys = encode_floats(scores)
        is_inside: NDArray[np.bool_] = (self.lower[ordinals] <= keys) & (
            keys <= self.upper[ordinals]
        )
        return is_inside & defined

    def _propose_pairs(self, vectors: Matrix, max_pairs: int | None = None) -> RowPairs:
        """Return candidate pairs of a vector row and the row of a ball in `centres`."""
        norms = compute_norms(vectors)
        is_plain_row = is_plain(norms)
        plain_rows = np.flatnonzero(is_plain_row)
        query = _VectorQuery.from_vectors(
            vectors if is_plain_row.all() else vectors[plain_rows], norms[plain_rows], self.edges
        )
        pairs, total = [(plain_rows[:0], plain_rows[:0])], 0
        plain_pairs = (
            (plain_rows[events], ball_rows) for events, ball_rows in self._propose_plain(query)
        )
        for events, ball_rows in chain(
            plain_pairs, self._verify_irregular(vectors, norms, is_plain_row)
        ):
            total += len(events)
            check_max_pairs(total, max_pairs)
            pairs.append((events, ball_rows))
        events, ball_rows = map(np.concatenate, zip(*pairs, strict=True))
        return events, ball_rows

    def _propose_plain(self, query: _VectorQuery) -> Iterator[RowPairs]:
        """Yield candidate pairs of plain vectors and plain balls, in portions."""
        clustered, unclustered_stop = self.starts[-2:].tolist()
        for start in range(0, len(query.norms), _EVENTS_PER_SORT):
            reached_clusters = []
            for first in range(
                start, min(start + _EVENTS_PER_SORT, len(query.norms)), _EVENTS_PER_BLOCK
            ):
                rows = slice(first, min(first + _EVENTS_PER_BLOCK, start + _EVENTS_PER_SORT))
                if clustered:
                    reached = self._find_reached_clusters(query, rows)
                    member_count = np.diff(self.starts)[reached[1]].sum()
                    if member_count < _MAX_CANDIDATE_SHARE * clustered * len(query.norms[rows]):
                        reached_clusters.append(reached)
                    else:
                        yield from self._compare_products(query, rows, 0, clustered)
                scan = self._compare_sketches if self.basis.shape[1] else self._compare_products
                yield from scan(query, rows, clustered, unclustered_stop)
            if reached_clusters:
                yield from self._propose_members(
                    query, *map(np.concatenate, zip(*reached_clusters, strict=True))
                )

    def _find_reached_clusters(self, query: _VectorQuery, rows: slice) -> Any:
        """Return pairs of an event and a cluster that it reaches, in two arrays.

        A third array has, for each pair, the component of the event along the direction of the
        cluster.
        """
        along = query.vectors[rows] @ self.directions.T
        marks = mark_reached(along, query.norms[rows], query.bins[rows], self.limits)
        events, clusters = _find_marked(marks)
        return events + rows.start, clusters, along[events, clusters]

    def _propose_members(
        self, query: _VectorQuery, events: Rows, clusters: Rows, along: Matrix
    ) -> Iterator[RowPairs]:
        """Yield candidate pairs of events and members of the clusters that they reach."""
        order = np.argsort(
            clusters.astype(np.uint16), kind="stable"
        )  # short integers are sorted faster
        events, clusters, along = events[order], clusters[order], along[order]
        across = compute_orthogonal_part(
            along, query.exact_norms[events], bound_product_error(self.centres.shape[1])
        )
        sizes = np.diff(self.starts)[clusters]
        before = np.cumsum(sizes) - sizes
        block_starts = np.searchsorted(before, np.arange(0, sizes.sum(), _MEMBERS_PER_BLOCK))
        for low, high in pairwise([*block_starts, len(events)]):
            block = slice(low, high)
            candidates = find_near_members(
                events[block], clusters[block], along[block], across[block],
                query.norms, query.halves, self.starts, self.points, self.demands,
            )  # fmt: skip
            yield self._confirm_products(query, *candidates)

    def _compare_products(
        self, query: _VectorQuery, rows: slice, first: int, stop: int
    ) -> Iterator[RowPairs]:
        """Yield the candidate pairs of some events and a range of balls.

        They are found by inner products of all events with all balls.
        """
        for low in range(first, stop, _BALLS_PER_BLOCK):
            balls = slice(low, min(low + _BALLS_PER_BLOCK, stop))
            products = query.vectors[rows] @ self.centres[balls].T
            marks = mark_admitted(
                products, *self.demands[:, balls], query.norms[rows], query.halves[rows]
            )
            events, ball_rows = _find_marked(marks)
            yield events + rows.start, ball_rows + low

    def _compare_sketches(
        self, query: _VectorQuery, rows: slice, first: int, stop: int
    ) -> Iterator[RowPairs]:
        """Yield the candidate pairs of some events and a range of balls without a cluster.

        If the inner products of sketches exclude more than 90% of the pairs, the other pairs are
        compared one by one; otherwise all pairs are compared by the inner products of vectors.
        """
        query_sketches = compute_sketches(query.vectors[rows], query.exact_norms[rows], self.basis)
        ones = np.ones(_BALLS_PER_BLOCK, np.float32)
        for low in range(first, stop, _BALLS_PER_BLOCK):
            balls = slice(low, min(low + _BALLS_PER_BLOCK, stop))
            products = query_sketches @ self.sketches[low - first : balls.stop - first].T
            marks = mark_admitted(
                products, ones, *self.demands[1:, balls], query.norms[rows], query.halves[rows]
            )
            if np.count_nonzero(marks) < _MAX_CANDIDATE_SHARE * marks.size:
                events, ball_rows = _find_marked(marks)
                yield self._confirm_products(query, events + rows.start, ball_rows + low)
            else:
                yield from self._compare_products(query, rows, low, balls.stop)

    def _confirm_products(self, query: _VectorQuery, events: Rows, ordinals: Rows) -> RowPairs:
        """Return the pairs whose inner products meet the demands of the balls."""
        is_met = confirm_products(
            query.vectors, events, self.centres, ordinals, self.demands, query.norms, query.halves
        )
        return events[is_met], ordinals[is_met]

    def _verify_irregular(
        self, vectors: Matrix, norms: Floats, plain: NDArray[np.bool_]
    ) -> Iterator[RowPairs]:
        """Yield the candidates whose vector or centre is not plain.

        They are the pairs that Spark's arithmetic admits, and all pairs in which neither the vector
        nor the centre is finite.
        """
        plain_rows, irregular_balls = np.flatnonzero(plain), np.arange(self.starts[-1], len(self))
        is_infinite = ~np.isfinite(self.centres[self.starts[-1] :]).all(axis=1)
        for event in np.flatnonzero(~plain):
            ball_rows = np.concatenate(
                [np.flatnonzero(self._may_contain(norms[event])), irregular_balls]
            )
            is_inside = self._verify_pairs(vectors, np.full(len(ball_rows), event), ball_rows)
            if not np.isfinite(norms[event]):
                is_inside[len(ball_rows) - len(irregular_balls) :] |= is_infinite
            yield np.full(is_inside.sum(), event), ball_rows[is_inside]
        for ball_row in irregular_balls:
            is_inside = self._verify_pairs(vectors, plain_rows, np.full(len(plain_rows), ball_row))
            yield plain_rows[is_inside], np.full(is_inside.sum(), ball_row)

    def _may_contain(self, norm: float) -> NDArray[np.bool_]:
        """Return a mask of the plain balls that may contain a vector whose norm is not plain."""
        upper, metrics = self.upper[: self.starts[-1]], self.metrics[: self.starts[-1]]
        if not np.isfinite(norm):  # then no score is finite either
            return np.asarray(upper >= key_domain(FLOAT).high - 1)
        nearest = max(0.0, norm - MAX_NORM) * (1 - relative_error_bound(self.centres.shape[1]))
        with np.errstate(over="ignore"):
            key = encode_floats(np.array([nearest], np.float32))[0] - 1
        return np.asarray((metrics != Metric.L2) | (upper >= key))


@dataclass(frozen=True, slots=True)
class _VectorQuery:
    """Plain vectors with their norms (as float64 and as float32) and the bins of the norms.

    `halves` has half of the square of each norm.
    """

    vectors: Matrix
    exact_norms: Floats
    norms: Matrix
    halves: Matrix
    bins: Rows

    @classmethod
    def from_vectors(cls, vectors: Matrix, norms: Floats, edges: Floats) -> _VectorQuery:
        """Return a query from vectors, their norms as float64, and the edges of the bins."""
        singles, halves = norms.astype(np.float32), (norms**2 / 2).astype(np.float32)
        return cls(vectors, norms, singles, halves, find_norm_bins(norms, edges))


def _find_marked(marks: NDArray[np.bool_]) -> RowPairs:
    """Return the rows and columns of all true marks."""
    rows, columns = np.divmod(np.flatnonzero(marks), marks.shape[1])
    return rows, columns


def _project_members(
    ordered: BallBatch, labels: Rows, directions: Matrix, edges: Floats
) -> tuple[Matrix, Matrix]:
    """Return the centres of clustered balls as points of half planes, and the limits of clusters.

    `ball_demands` explains the half planes. The limit of a cluster is the smallest cosine between
    its direction and a vector that may be in one of its balls. There is one limit for each bin of
    norms.
    """
    count, length = len(labels), directions.shape[1]
    points = np.empty((2, count), np.float32)
    reach = np.full((len(edges) + 1, len(directions)), -np.pi)
    for start in range(0, count, _BALLS_PER_BLOCK):
        block = slice(start, min(start + _BALLS_PER_BLOCK, count))
        norms, block_labels = ordered.norms[block], labels[block]
        along = ordered.demands[0, block] * np.einsum(
            "ij,ij->i", ordered.centres[block], directions[block_labels], dtype=np.float64
        )
        points[0, block], points[1, block] = along, compute_orthogonal_part(along, norms, 2.0**-21)
        centre_angles = np.arccos(np.clip(along / norms, -1, 1))
        angles = compute_reach_angles(ordered.demands[:, block], norms, edges)
        for i, angle in enumerate(angles):
            np.maximum.at(
                reach[i], block_labels, np.where(angle < 0, -np.pi, centre_angles + angle)
            )
    cosines = np.where(reach < 0, 2.0, np.cos(np.minimum(reach, np.pi))) - bound_product_error(
        length
    )
    limits = np.where(reach >= np.pi, -2.0, cosines - 2.0**-21)
    return points, limits.astype(np.float32)
