"""Ball clusters, compared with trying every ball: no pair is missed, few candidates are false."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from covey.geometry.balls import Balls
from covey.geometry.distances import Metric, score_rows
from covey.index.kernels.ball_products import (
    confirm_products,
    find_near_members,
    mark_admitted,
    mark_reached,
)
from covey.index.segment.balls import ball_clusters
from covey.index.segment.balls.ball_clustering import UNCLUSTERED, BallBatch
from covey.index.segment.balls.ball_clusters import BallClusters
from covey.index.segment.balls.ball_demands import (
    bound_product_error,
    choose_norm_edges,
    compute_demands,
    compute_norms,
    compute_orthogonal_part,
    is_plain,
)
from covey.space.events import ValueState
from covey.space.keys import encode_floats, key_domain
from covey.space.ragged_array import RaggedArray
from covey.space.types import FLOAT

Matrix = NDArray[np.float32]
Keys = NDArray[np.int64]
BallArrays = tuple[NDArray[np.uint8], Matrix, Keys, Keys]

LOW, HIGH = int(key_domain(FLOAT).low), int(key_domain(FLOAT).high)
ODD = [np.nan, np.inf, -np.inf, 0.0, 1e-45, 1e-20, 3e-10, 1e5, 2e9, 3e18, 1e20, 3e38, -3e38]

numbers = (
    st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0, 2.0])
    | st.floats(-2, 2, width=32)
    | st.sampled_from(ODD)
    | st.floats(width=32)
)


def unit(matrix: NDArray[np.floating]) -> Matrix:
    return (matrix / np.linalg.norm(matrix, axis=1, keepdims=True)).astype(np.float32)


def within_radius(centres: Matrix, radii: object) -> BallArrays:
    upper = encode_floats(np.broadcast_to(np.asarray(radii, np.float32), len(centres)))
    return np.zeros(len(centres), np.uint8), centres, np.zeros(len(centres), np.int64), upper


def pairs(rows: tuple[Keys, Keys]) -> set[tuple[int, int]]:
    listed = list(zip(rows[0].tolist(), rows[1].tolist(), strict=True))
    assert len(listed) == len(set(listed)), "a pair occurs twice"
    return set(listed)


def admitting(balls: BallArrays, vectors: Matrix, are_points: bool = False) -> set[tuple[int, int]]:
    """Return the pairs that `Balls` admits, by trying every ball with every vector."""
    metrics, centres, lower, upper = balls
    count = len(metrics)
    one_each = RaggedArray.from_lengths(np.ones(count, np.int64), np.arange(count))
    states = np.full(count, ValueState.VALUE, np.uint8)
    points = np.full(count, are_points)
    batch = Balls(states, one_each, metrics, centres, lower, upper, points)
    events, rows = (side.ravel() for side in np.indices((len(vectors), count)))
    every = np.full(len(events), ValueState.VALUE, np.uint8)
    held = batch.take(rows).contains(vectors[events], every)
    return pairs((events[held], rows[held]))


def answer(clusters: BallClusters, vectors: Matrix) -> set[tuple[int, int]]:
    """Return the containing pairs; check that block sizes and candidate shares do not change them.

    All balls of a cluster are compared if many, any or none of its members are candidates. Small
    blocks make sure that there are several of each kind.
    """
    small = {
        "_EVENTS_PER_BLOCK": 3,
        "_BALLS_PER_BLOCK": 4,
        "_EVENTS_PER_SORT": 7,
        "_MEMBERS_PER_BLOCK": 5,
    }
    listed = []
    share = "_MAX_CANDIDATE_SHARE"
    for sizes in ({}, {share: 0.0}, {share: 2.0}, {share: 2.0, **small}):
        with pytest.MonkeyPatch.context() as patch:
            for name, size in sizes.items():
                patch.setattr(ball_clusters, name, size)
            listed.append(pairs(clusters.find_containing(vectors)))
            assert listed[-1] <= pairs(clusters.propose(vectors))
    assert all(first == listed[0] for first in listed)
    return listed[0]


def build_unrelated_clusters(
    balls: BallArrays, random: np.random.Generator, count: int, size: int
) -> BallClusters:
    """Build clusters and sketches that are unrelated to the balls."""
    shapes, length = BallBatch.from_balls(*balls), balls[1].shape[1]
    labels = random.integers(UNCLUSTERED, count, len(shapes))
    directions = unit(random.normal(size=(count, length)))
    basis = np.linalg.qr(random.normal(size=(length, length)))[0][:, :size]
    edges = choose_norm_edges(shapes.norms[is_plain(shapes.norms)])
    return BallClusters.from_assignment(
        shapes, edges, directions, labels, np.ascontiguousarray(basis)
    )


def check(balls: BallArrays, vectors: Matrix, random: np.random.Generator | None = None) -> None:
    """Fail unless all pairs are found, with clusters that were fitted and with random ones."""
    expected = admitting(balls, vectors)
    random = random or np.random.default_rng(1)
    length = balls[1].shape[1]
    for count, size in ((0, 0), (3, 0), (2, max(1, length // 2)), (0, length)):
        assert answer(build_unrelated_clusters(balls, random, count, size), vectors) == expected
    assert answer(BallClusters.build(*balls), vectors) == expected


@st.composite
def cases(draw: st.DrawFn) -> tuple[BallArrays, Matrix, int]:
    """Draw balls whose bounds are a score of a vector, adjacent to one, or arbitrary."""
    length = draw(st.sampled_from([1, 2, 3, 8, 11]))
    vector = st.lists(numbers, min_size=length, max_size=length)
    vectors = np.array(draw(st.lists(vector, min_size=1, max_size=6)), np.float32)
    metrics, centres, lower, upper = [], [], [], []
    for _ in range(draw(st.integers(0, 6))):
        metric = draw(st.sampled_from(list(Metric)))
        centre = draw(vector | st.sampled_from(vectors.tolist()))
        scores, _ = score_rows(metric, vectors, np.float32([centre] * len(vectors)))
        near = st.sampled_from(encode_floats(scores).tolist())
        near = st.builds(lambda key, by: key + by, near, st.integers(-1, 1))
        end = st.sampled_from([LOW, 0, 1, HIGH - 1, HIGH]) | near
        ends = [int(np.clip(draw(end), LOW, HIGH)) for _ in range(2)]
        metrics.append(metric)
        centres.append(centre)
        lower.append(min(ends))
        upper.append(max(ends))
    balls = (
        np.array(metrics, np.uint8), np.array(centres, np.float32).reshape(-1, length),
        np.array(lower, np.int64), np.array(upper, np.int64),
    )  # fmt: skip
    return balls, vectors, draw(st.integers(0, 100))


@settings(deadline=None, max_examples=150)
@given(cases())
def test_no_pair_is_missed(case: tuple[BallArrays, Matrix, int]) -> None:
    balls, vectors, seed = case
    check(balls, vectors, np.random.default_rng(seed))


@pytest.mark.parametrize("scale", [1.0, 1e-12, 1e-8, 3e8, 1e17, 1e30])
@pytest.mark.parametrize("metric", list(Metric))
def test_no_pair_is_missed_at_exact_thresholds(metric: Metric, scale: float) -> None:
    """Intervals end exactly at a score, and one float32 before and after it."""
    random = np.random.default_rng(5)
    vectors = (random.normal(size=(8, 24)) * scale).astype(np.float32)
    centres = (random.normal(size=(40, 24)) * scale).astype(np.float32)
    centres[:8] = vectors
    events = np.arange(40) % 8
    keys = encode_floats(score_rows(metric, vectors[events], centres)[0])
    for by in (-1, 0, 1):
        low, high = np.full(40, LOW if metric else 0), np.full(40, HIGH)
        metrics = np.full(40, metric, np.uint8)
        check((metrics, centres, low, np.clip(keys + by, LOW, HIGH)), vectors)
        check((metrics, centres, np.clip(keys + by, LOW, HIGH), high), vectors)
        check((metrics, centres, keys + min(by, 0), keys + max(by, 0)), vectors)


@pytest.mark.parametrize("length", [1, 2, 7, 64])
def test_balls_and_vectors_may_have_any_norm(length: int) -> None:
    random = np.random.default_rng(length)
    sizes = 10.0 ** random.uniform(-3, 3, (120, 1))
    vectors = (unit(random.normal(size=(120, length))) * sizes).astype(np.float32)
    radii = 10.0 ** random.uniform(-3, 3, 100)
    metrics, centres, lower, upper = within_radius(vectors[20:], radii)
    metrics[::3] = Metric.COSINE
    cosines = metrics == Metric.COSINE
    lower[cosines] = encode_floats(random.uniform(-1, 1, cosines.sum()).astype(np.float32))
    upper[cosines] = HIGH
    lower[1::3] = encode_floats((radii[1::3] / 2).astype(np.float32))
    check((metrics, centres, lower, upper), vectors)


def test_zero_infinite_and_nan_vectors_are_found() -> None:
    vectors = np.zeros((len(ODD), 3), np.float32)
    vectors[:, 0] = ODD
    vectors[::2, 1] = 1
    metrics = np.repeat(np.uint8([Metric.L2, Metric.COSINE]), 3 * len(ODD))
    centres = np.tile(vectors, (6, 1))
    ends = np.repeat([[0, HIGH - 1], [0, HIGH], [1, 0x3F80_0000]], len(ODD), axis=0)
    lower, upper = np.tile(ends, (2, 1)).T
    check((metrics, centres, lower, upper), vectors)


def test_points_are_proposed_to_themselves() -> None:
    """A point with NaN or infinity has no distance to itself, but equals itself."""
    vectors = np.float32([[np.nan, 1], [np.inf, 1], [0, 0], [1, 2], [1e-30, 0]])
    balls = within_radius(vectors, 0.0)
    same = admitting(balls, vectors, are_points=True)
    assert {(i, i) for i in range(5)} <= same
    assert pairs(BallClusters.build(*balls).propose(vectors)) >= same


def test_batches_without_balls_or_vectors_work() -> None:
    none, one_vectors = np.empty((0, 4), np.float32), np.ones((3, 4), np.float32)
    for centres, vectors in ((none, one_vectors), (one_vectors, none), (none, none)):
        check(within_radius(centres, 1.0), vectors)


def test_one_ball_and_many_equal_balls_are_found() -> None:
    vectors = np.float32([[0, 1], [0, 1.1], [0, -1]])
    check(within_radius(vectors[:1], 0.5), vectors)
    same = within_radius(np.repeat(vectors[:1], 3000, axis=0), 0.5)
    assert len(BallClusters.build(*same).find_containing(vectors)[0]) == 2 * 3000


def grouped(random: np.random.Generator, count: int) -> Matrix:
    middles = unit(np.random.default_rng(7).normal(size=(40, 96)))
    spread = random.normal(size=(count, 96)) * 0.05
    return unit(middles[random.integers(0, 40, count)] + spread)


def test_clusters_of_grouped_centres_are_found_and_used() -> None:
    random = np.random.default_rng(3)
    balls = within_radius(grouped(random, 3000), random.uniform(0.45, 0.6, 3000))
    clusters, vectors = BallClusters.build(*balls), grouped(random, 100)
    assert 30 <= len(clusters.directions) <= 60
    assert clusters.starts[-2] > 2900
    listed = answer(clusters, vectors)
    assert listed == brute(balls, vectors)
    assert len(listed) > 100
    assert len(clusters.propose(vectors)[0]) <= 1.01 * len(listed)


@pytest.mark.parametrize("scale", [0.01, 1.0, 500.0])
def test_clusters_work_for_vectors_that_are_not_unit_vectors(scale: float) -> None:
    random = np.random.default_rng(4)
    sizes = scale * np.exp(random.normal(0, 0.3, (3100, 1)))
    vectors = (grouped(random, 3100) * sizes).astype(np.float32)
    radii = 0.5 * np.linalg.norm(vectors[100:], axis=1)
    balls = within_radius(vectors[100:], radii)
    clusters = BallClusters.build(*balls)
    assert clusters.starts[-2] > 1500, "most balls must be in clusters"
    assert answer(clusters, vectors[:100]) == brute(balls, vectors[:100])


def test_clusters_work_for_similarities_above_and_below_a_bound() -> None:
    random = np.random.default_rng(8)
    metrics, centres, lower, upper = within_radius(grouped(random, 3000), 1.0)
    metrics[:] = Metric.COSINE
    ends = encode_floats(random.uniform(0.8, 0.9, 3000).astype(np.float32))
    lower, upper = ends.copy(), np.full(3000, HIGH)
    lower[::2], upper[::2] = LOW, -ends[::2]
    balls, vectors = (metrics, centres, lower, upper), grouped(random, 100)
    vectors[::2] *= -3
    clusters = BallClusters.build(*balls)
    assert clusters.starts[-2] > 2900
    assert answer(clusters, vectors) == brute(balls, vectors)


def test_centres_of_low_rank_are_sketched() -> None:
    random = np.random.default_rng(9)
    axes = random.normal(size=(12, 96))
    vectors = unit(random.normal(size=(3100, 12)) @ axes + 0.1 * random.normal(size=(3100, 96)))
    balls = within_radius(vectors[100:], random.uniform(0.3, 0.5, 3000))
    clusters = BallClusters.build(*balls)
    assert clusters.basis.shape[1]
    listed = answer(clusters, vectors[:100])
    assert listed == brute(balls, vectors[:100])
    assert len(clusters.propose(vectors[:100])[0]) <= 1.01 * len(listed)


def test_centres_without_structure_get_no_clusters_and_no_sketch() -> None:
    random = np.random.default_rng(10)
    vectors = unit(random.normal(size=(3100, 96)))
    balls = within_radius(vectors[100:], 1.1)
    clusters = BallClusters.build(*balls)
    assert (len(clusters.directions), clusters.basis.shape[1]) == (0, 0)
    assert answer(clusters, vectors[:100]) == brute(balls, vectors[:100])


def brute(balls: BallArrays, vectors: Matrix) -> set[tuple[int, int]]:
    """Return the pairs from the scores of every vector with every ball."""
    metrics, centres, lower, upper = balls
    listed = []
    for i, vector in enumerate(vectors):
        repeated_vector = np.broadcast_to(vector, centres.shape)
        l2, cosine = (score_rows(metric, repeated_vector, centres) for metric in Metric)
        keys = encode_floats(np.where(metrics == Metric.L2, l2[0], cosine[0]))
        held = (lower <= keys) & (keys <= upper) & ((metrics == Metric.L2) | cosine[1])
        listed += [(i, j) for j in np.flatnonzero(held).tolist()]
    return set(listed)


def test_the_same_seed_gives_the_same_clusters() -> None:
    balls = within_radius(grouped(np.random.default_rng(1), 2000), 0.5)
    first, second = (
        BallClusters.build(*balls, seed=3).to_arrays(),
        BallClusters.build(*balls, seed=3).to_arrays(),
    )
    assert all(np.array_equal(first[name], second[name]) for name in first)


def test_arrays_may_be_mapped_from_files(tmp_path) -> None:  # type: ignore[no-untyped-def]
    random = np.random.default_rng(2)
    clusters = BallClusters.build(*within_radius(grouped(random, 3000), 0.5))
    for name, array in clusters.to_arrays().items():
        np.save(tmp_path / f"{name}.npy", array)
    names = clusters.to_arrays().keys()
    mapped = {name: np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in names}
    vectors = grouped(random, 50)
    again = BallClusters.from_arrays(mapped)
    assert answer(again, vectors) == answer(clusters, vectors)
    assert np.array_equal(clusters.centres, again.centres)


def test_order_maps_rows_to_the_original_centres() -> None:
    centres = grouped(np.random.default_rng(6), 3000)
    clusters = BallClusters.build(*within_radius(centres, 0.5))
    assert np.array_equal(clusters.centres, centres[clusters.order])
    assert len(clusters) == 3000


class TestKernels:
    """Each compiled loop, compared with the same computation in NumPy."""

    random = np.random.default_rng(11)
    vectors = random.normal(size=(30, 20)).astype(np.float32)
    centres = random.normal(size=(50, 20)).astype(np.float32)
    exact = compute_norms(vectors)
    norms, halves = exact.astype(np.float32), (exact**2 / 2).astype(np.float32)
    lower, upper = within_radius(centres, random.uniform(4, 7, 50))[2:]
    demands = compute_demands(np.zeros(50, np.uint8), compute_norms(centres), lower, upper, 20)

    @property
    def needed(self) -> Matrix:
        _, square, linear, constant = self.demands
        return square * self.halves[:, None] + linear * self.norms[:, None] + constant

    def test_mark_reached_equals_numpy(self) -> None:
        along, bins = self.vectors @ self.centres.T, np.arange(30) % 2
        limits = self.random.normal(size=(2, 50)).astype(np.float32)
        marks = mark_reached(along, self.norms, bins, limits)
        np.testing.assert_array_equal(marks, along >= self.norms[:, None] * limits[bins])

    def test_mark_admitted_equals_numpy(self) -> None:
        products = self.vectors @ self.centres.T
        marks = mark_admitted(products, *self.demands, self.norms, self.halves)
        expected = products >= self.needed
        assert 0 < expected.sum() < expected.size
        np.testing.assert_array_equal(marks, expected)

    def test_find_near_members_equals_numpy(self) -> None:
        starts, points = np.array([0, 20, 20, 50]), np.abs(self.random.normal(size=(2, 50)))
        events, hit = (side.ravel() for side in np.indices((30, 3)))
        along, over = self.random.normal(size=(2, 90)).astype(np.float32)
        rows, places = find_near_members(
            events, hit, along, over, self.norms, self.halves, starts, points.astype(np.float32),
            self.demands,
        )  # fmt: skip
        label = np.repeat([0, 2], [20, 30])
        x, y = along.reshape(30, 3)[:, label], over.reshape(30, 3)[:, label]
        expected = np.nonzero(x * points[0] + y * points[1] >= self.needed)
        assert pairs((rows, places)) == pairs(expected)
        assert len(rows)

    def test_confirm_products_equals_numpy(self) -> None:
        events, places = (side.ravel() for side in np.indices((30, 50)))
        held = confirm_products(
            self.vectors, events, self.centres, places, self.demands, self.norms, self.halves
        )
        products = self.vectors.astype(np.float64) @ self.centres.T
        np.testing.assert_array_equal(held, (products >= self.needed).ravel())


@given(st.integers(0, 1000))
def test_half_planes_bound_inner_products(seed: int) -> None:
    random = np.random.default_rng(seed)
    x, c, u = random.normal(size=(3, 50, 5))
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    (xs, xa), (cs, ca) = (
        (
            (v * u).sum(1),
            compute_orthogonal_part(
                (v * u).sum(1), np.linalg.norm(v, axis=1), bound_product_error(5)
            ),
        )
        for v in (x, c)
    )
    assert ((x * c).sum(1) <= xs * cs + xa * ca).all()
