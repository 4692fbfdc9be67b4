"""The index of random projections: the contract, workloads, and its measures of false covers."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from numpy.typing import NDArray

from benchmarks import projection
from covey import parse
from covey.errors import InvalidArgumentError
from covey.geometry import Regions
from covey.geometry.balls import Ball, Balls
from covey.geometry.distances import Metric, score_rows
from covey.geometry.projections import Directions
from covey.geometry.regions import Constraints
from covey.geometry.relations import covers
from covey.geometry.scalars import Scalars
from covey.index import BruteForceIndex, Index
from covey.index.projection import index as module
from covey.index.projection.index import RandomProjectionIndex
from covey.space import Events, Space
from covey.space.events import ValueState
from covey.space.keys import decode_floats, encode_floats, key_domain
from covey.space.types import BIGINT, DOUBLE
from covey.testing.index_contract import IndexCase, IndexContract, index_cases
from covey.testing.range_tree import RangeTree, boxes_to_points
from covey.workload import CubeBalls, UniformBoxes, constraints, create_workload
from tests.index.same import check


class TestProjected(IndexContract):
    def build(self, regions: Regions) -> Index:
        return RandomProjectionIndex.build(regions)


class TestOnOneDirection(IndexContract):
    def build(self, regions: Regions) -> Index:
        return RandomProjectionIndex.build(regions, direction_count=1, seed=1)


class TestOnMoreDirectionsThanDimensions(IndexContract):
    def build(self, regions: Regions) -> Index:
        return RandomProjectionIndex.build(regions, direction_count=7, seed=2)


class TestOnSigns(IndexContract):
    def build(self, regions: Regions) -> Index:
        return RandomProjectionIndex.build(regions, direction_count=3, kind="signs", seed=3)


class TestOnSparseDirections(IndexContract):
    def build(self, regions: Regions) -> Index:
        return RandomProjectionIndex.build(regions, direction_count=2, kind="sparse", seed=4)


def _balls(count: int, start: int = 0, law: str = "pareto", d: int = 6) -> Regions:
    return CubeBalls("pareto" if law == "pareto" else "uniform", d).generate_regions(
        start, start + count
    )


@pytest.mark.parametrize("kind", ["orthonormal", "signs", "sparse"])
@pytest.mark.parametrize("workload", [UniformBoxes(4, 0.6), CubeBalls("uniform", 6)])
def test_answers_equal_those_of_a_scan(
    workload: UniformBoxes | CubeBalls, kind: Literal["orthonormal", "signs", "sparse"]
) -> None:
    stored, query = workload.generate_regions(0, 200), workload.generate_regions(190, 210)
    events = Events.from_arrow(workload.generate_events(0, 40), workload.space)
    check(RandomProjectionIndex.build(stored, kind=kind, seed=5), stored, query, events)


@pytest.mark.parametrize("name", ["alerts", "skewed", "classifieds", "watches"])
def test_matches_on_every_workload_equal_those_of_a_scan(name: str) -> None:
    workload = create_workload(name)
    regions = workload.generate_regions(0, 1_000)
    events = Events.from_arrow(workload.generate_events(0, 40), workload.space)
    found, expected = (
        RandomProjectionIndex.build(regions).match(events),
        BruteForceIndex(regions).match(events),
    )
    assert set(found) == set(expected)


@given(index_cases())
def test_small_batches_of_candidates_are_enough(case: IndexCase) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_CANDIDATES_PER_COVER", 1)
        patch.setattr(module, "_INITIAL_BATCH", 1)
        patch.setattr(module, "_MAX_PAIRS_PER_BATCH", 3)
        check(
            RandomProjectionIndex.build(case.stored_regions, direction_count=1),
            case.stored_regions,
            case.query_regions,
            case.query_events,
        )


def test_all_candidates_are_tried_if_the_first_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """On one direction, most first candidates are false covers."""
    monkeypatch.setattr(module, "_CANDIDATES_PER_COVER", 1)
    stored, query = _balls(400), _balls(60, 400)
    index = RandomProjectionIndex.build(stored, direction_count=1)
    assert index.measure_false_covers(query).redundant > 5
    limited, every = (
        index.find_covering(query, limit=1),
        BruteForceIndex(stored).find_covering(query),
    )
    assert limited.query_rows.tolist() == np.unique(every.query_rows).tolist()
    assert set(limited) <= set(every)


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("workload", [UniformBoxes(4, 0.6), CubeBalls("uniform", 6)])
def test_the_segment_proposes_the_same_covers_as_the_range_tree(
    workload: UniformBoxes | CubeBalls, k: int
) -> None:
    stored, query = workload.generate_regions(0, 1_000), workload.generate_regions(980, 1_010)
    index = RandomProjectionIndex.build(stored, direction_count=k, seed=7)
    tree = RangeTree.build(_points(index.boxes.reconstruct_regions(np.arange(len(stored)))))
    proposed = index.propose_covering(query)
    assert len(proposed) > len(index.find_covering(query))
    for row, point in enumerate(_points(index.mapping.project_inner(query)[0])):
        proposed_rows = np.sort(proposed.stored_rows[proposed.query_rows == row])
        assert proposed_rows.tolist() == tree.find_dominating(point).tolist()


def _points(boxes: Regions) -> NDArray[np.float64]:
    """Return the bounded boxes of the segment as points of the range tree."""
    batches = [column_constraints.batch for column_constraints in boxes.constraints.values()]
    low, high = (
        np.stack([decode_floats(getattr(batch, side), DOUBLE) for batch in batches], axis=1)
        for side in ("lower", "upper")
    )
    return boxes_to_points(low, high)


@pytest.mark.parametrize("m", [1, 2, 3, 5])
@pytest.mark.parametrize("values", [3, 1_000])
def test_the_range_tree_finds_dominating_points(m: int, values: int) -> None:
    random = np.random.default_rng(m)
    points = random.integers(0, values, (400, m)).astype(np.float64)
    points[random.random((400, m)) < 0.05] = np.inf
    tree = RangeTree.build(points)
    for point in [*points[:50], *random.integers(0, values, (50, m))]:
        expected = np.flatnonzero((points >= point).all(axis=1))
        assert tree.find_dominating(point).tolist() == expected.tolist()


def test_false_covers_are_counted() -> None:
    stored, query = _balls(800, law="uniform"), _balls(100, 800, law="uniform")
    index = RandomProjectionIndex.build(stored, direction_count=2)
    counted, proposed = index.measure_false_covers(query), index.propose_covering(query)
    true = covers(stored, proposed.stored_rows, query, proposed.query_rows)  # type: ignore[arg-type]
    first = {a: bool(t) for a, t in zip(proposed.query_rows[::-1], true[::-1], strict=True)}
    covered = {int(a) for a in proposed.query_rows[true]}
    assert (counted.query_count, counted.stored_count, counted.direction_count) == (100, 800, 2)
    assert (counted.candidates, counted.covers) == (len(proposed), int(true.sum()))
    assert counted.redundant == sum(not first[a] for a in covered) > 0
    false = len(proposed) - int(true.sum())
    assert counted.false_share_of_candidates == false / len(proposed)
    assert counted.false_share_of_non_covers == false / (100 * 800 - int(true.sum()))
    assert (
        counted.false_share_of_non_covers
        < counted.expected_false_share
        == pytest.approx(4 / np.pi**2)
    )


def test_more_directions_propose_fewer_candidates() -> None:
    stored, query = _balls(1_000, d=12), _balls(100, 1_000, d=12)
    found = [
        len(RandomProjectionIndex.build(stored, direction_count=k).propose_covering(query))
        for k in (1, 4, 12)
    ]
    assert found[0] > 2 * found[1] > 4 * found[2] > 0


def test_attributes_of_very_different_scale_are_both_selective() -> None:
    """Microseconds since 1970 and a share are each projected in units of their own widths."""
    boxes = UniformBoxes(2, 0.1)
    small, space = (
        boxes.generate_regions(0, 3_000),
        Space.from_types({"x1": pa.int64(), "x2": pa.float64()}),
    )
    batch = small.constraints["x1"].batch
    assert isinstance(batch, Scalars)
    low, high = (
        (1.7e15 + 1e12 * decode_floats(keys, DOUBLE)).astype(np.int64)
        for keys in (batch.lower, batch.upper)
    )
    times = Constraints(np.arange(3_000), Scalars.from_intervals(key_domain(BIGINT), low, high))
    large = Regions(space, 3_000, {"x1": times, "x2": small.constraints["x2"]})
    few, many = (len(RandomProjectionIndex.build(r).propose_covering(r)) for r in (small, large))
    assert many == pytest.approx(few, rel=0.2)


def test_an_event_with_null_matches_only_regions_that_admit_null() -> None:
    space = Space.from_types({"x": pa.float64(), "y": pa.float64()})
    texts = ["x IS NULL AND y = 1", "(x IS NULL OR x > 5) AND y = 1", "x > 5 AND y = 1", "y = 1"]
    parsed = parse(space, texts)
    rows = pa.table({"x": [None, 9.0, float("nan")], "y": [1.0, 1.0, 1.0]})
    found = RandomProjectionIndex.build(parsed.regions).match(Events.from_arrow(rows, space))
    alerts = {(e, int(parsed.predicate_rows[r])) for e, r in found}
    assert alerts == {(0, 0), (0, 1), (0, 3), *((e, t) for e in (1, 2) for t in (1, 2, 3))}


def test_a_region_of_two_balls_is_covered_by_either_ball() -> None:
    space = Space.from_types({"v": pa.list_(pa.float32())}, vectors={"v": 2})
    near = "vector_l2_distance(v, CAST(array({}, 0) AS ARRAY<FLOAT>)) <= {}"
    far_apart = [near.format(0, 9), near.format(100, 9)]
    both = parse(space, [" AND ".join([near.format(0, 1), near.format(100, 1)])]).regions
    balls = parse(space, far_apart).regions
    assert list(RandomProjectionIndex.build(balls).find_covering(both)) == [(0, 0), (0, 1)]
    assert list(RandomProjectionIndex.build(balls).find_covering(both, limit=1)) == [(0, 0)]
    assert list(RandomProjectionIndex.build(both).find_covered(balls)) == [(0, 0), (1, 0)]


def test_a_vector_that_is_inside_only_in_float32_is_found() -> None:
    """The radius is the distance as Spark computes it, which may be below the exact distance."""
    random, count = np.random.default_rng(0), 300
    scales = 10.0 ** random.integers(-3, 4, (2, count, 1))
    centres, vectors = (random.standard_normal((2, count, 1)) * scales).astype(np.float32)
    radii, _ = score_rows(Metric.L2, vectors, centres)
    apart = np.abs(vectors.astype(np.float64) - centres)[:, 0]
    assert (apart > radii).sum() > 50
    space = Space.from_types({"v": pa.list_(pa.float32())}, vectors={"v": 1})
    regions = constraints.build_regions(space, [[constraints.BallColumn("v", centres, radii)]])
    table = pa.table({"v": pa.array(vectors.tolist(), pa.list_(pa.float32()))})
    found = set(RandomProjectionIndex.build(regions).match(Events.from_arrow(table, space)))
    assert {(i, i) for i in range(count)} <= found


def test_a_ball_that_admits_null_matches_null() -> None:
    space = Space.from_types({"v": pa.list_(pa.float32())}, vectors={"v": 2})
    ball = Ball(Metric.L2, (0.0, 0.0), 0, int(encode_floats(np.float32([1]))[0]))
    states = [ValueState.VALUE, ValueState.VALUE | ValueState.NULL]
    balls = Balls.from_rows([(state, [ball]) for state in states], 2)
    regions = Regions(space, 2, {"v": Constraints(np.arange(2), balls)})
    table = pa.table({"v": pa.array([None, [0.5, 0.5]], pa.list_(pa.float32()))})
    events = Events.from_arrow(table, space)
    found = RandomProjectionIndex.build(regions).match(events)
    assert set(found) == {(0, 1), (1, 0), (1, 1)}
    points = RandomProjectionIndex.build(Regions.from_events(events))
    assert set(points.find_covered(regions)) == {(0, 1), (1, 0), (1, 1)}


def test_cosine_constraints_are_matched_without_projection() -> None:
    space = Space.from_types({"v": pa.list_(pa.float32())}, vectors={"v": 2})
    similar = "vector_cosine_similarity(v, CAST(array(1, 0) AS ARRAY<FLOAT>)) <= 0.5F"
    table = pa.table({"v": pa.array([[-100.0, 0.0], [9.0, 1.0]], pa.list_(pa.float32()))})
    index = RandomProjectionIndex.build(parse(space, [similar]).regions)
    assert list(index.match(Events.from_arrow(table, space))) == [(0, 0)]


def test_an_unknown_kind_of_directions_is_named() -> None:
    with pytest.raises(InvalidArgumentError, match="'signs' or 'sparse', got 'gauss'"):
        RandomProjectionIndex.build(_balls(3), kind="gauss")  # type: ignore[arg-type]


def test_the_study_counts_pairs_like_numpy() -> None:
    random = np.random.default_rng(0)
    centres, radii = random.random((80, 4)), np.sort(random.random(80))
    projected = centres @ Directions.orthonormal(3, 4, 0).matrix.T
    gaps = np.tril(radii[:, None] - radii, -1) + np.triu(np.full((80, 80), -1.0))
    within = np.abs(projected[:, None] - projected) <= gaps[:, :, None]
    apart = np.linalg.norm(centres[:, None] - centres, axis=2)
    found, true = projection._count(centres, radii, projected)
    assert found.tolist()[1:] == [within[:, :, :k].all(axis=2).sum() for k in (1, 2, 3)]
    assert true == (apart <= gaps).sum()
