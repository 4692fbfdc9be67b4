"""The index of random projections: the contract, workloads, and what it says of itself."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from numpy.typing import NDArray

from benchmarks import projection
from covey import parse
from covey.errors import ValueRefused
from covey.geometry import Regions
from covey.geometry.balls import Ball, Balls
from covey.geometry.distances import Metric, score
from covey.geometry.projections import Directions
from covey.geometry.regions import Constraints
from covey.geometry.relations import covers
from covey.geometry.scalars import Scalars
from covey.index import Index, Scan
from covey.index import projected as module
from covey.index.projected import Projected
from covey.space import Events, Space
from covey.space.events import State
from covey.space.keys import domain, float_key, key_float
from covey.space.types import BIGINT, DOUBLE
from covey.testing.contract import Case, IndexContract, cases
from covey.testing.range_tree import RangeTree, box_points
from covey.workload import CubeBalls, UniformBoxes, by_name, drawn
from tests.index.same import check


class TestProjected(IndexContract):
    def build(self, regions: Regions) -> Index:
        return Projected.build(regions)


class TestOnOneDirection(IndexContract):
    def build(self, regions: Regions) -> Index:
        return Projected.build(regions, k=1, seed=1)


class TestOnMoreDirectionsThanDimensions(IndexContract):
    def build(self, regions: Regions) -> Index:
        return Projected.build(regions, k=7, seed=2)


class TestOnSigns(IndexContract):
    def build(self, regions: Regions) -> Index:
        return Projected.build(regions, k=3, kind="signs", seed=3)


class TestOnSparseDirections(IndexContract):
    def build(self, regions: Regions) -> Index:
        return Projected.build(regions, k=2, kind="sparse", seed=4)


def _balls(count: int, start: int = 0, law: str = "pareto", d: int = 6) -> Regions:
    return CubeBalls("pareto" if law == "pareto" else "uniform", d).regions(start, start + count)


@pytest.mark.parametrize("kind", ["orthonormal", "signs", "sparse"])
@pytest.mark.parametrize("workload", [UniformBoxes(4, 0.6), CubeBalls("uniform", 6)])
def test_it_answers_as_a_scan_does(
    workload: UniformBoxes | CubeBalls, kind: Literal["orthonormal", "signs", "sparse"]
) -> None:
    stored, asked = workload.regions(0, 200), workload.regions(190, 210)
    events = Events.from_arrow(workload.events(0, 40), workload.space)
    check(Projected.build(stored, kind=kind, seed=5), stored, asked, events)


@pytest.mark.parametrize("name", ["alerts", "skewed", "classifieds", "watches"])
def test_it_finds_events_of_every_workload(name: str) -> None:
    workload = by_name(name)
    regions = workload.regions(0, 1_000)
    events = Events.from_arrow(workload.events(0, 40), workload.space)
    found, expected = Projected.build(regions).matching(events), Scan(regions).matching(events)
    assert set(found) == set(expected)


@given(cases())
def test_few_candidates_and_small_portions_are_enough(case: Case) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_FEW", 1)
        patch.setattr(module, "_FIRST", 1)
        patch.setattr(module, "_PAIRS_AT_ONCE", 3)
        check(Projected.build(case.stored, k=1), case.stored, case.asked, case.events)


def test_all_are_asked_for_where_few_candidates_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """Most first candidates on one direction are no covers."""
    monkeypatch.setattr(module, "_FEW", 1)
    stored, asked = _balls(400), _balls(60, 400)
    index = Projected.build(stored, k=1)
    assert index.false_covers(asked).redundant > 5
    one, every = index.covering(asked, 1), Scan(stored).covering(asked)
    assert one.asked.tolist() == np.unique(every.asked).tolist()
    assert set(one) <= set(every)


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("workload", [UniformBoxes(4, 0.6), CubeBalls("uniform", 6)])
def test_the_segment_proposes_what_the_range_tree_does(
    workload: UniformBoxes | CubeBalls, k: int
) -> None:
    stored, asked = workload.regions(0, 1_000), workload.regions(980, 1_010)
    index = Projected.build(stored, k=k, seed=7)
    tree = RangeTree.build(_points(index.boxes.regions(np.arange(len(stored)))))
    proposed = index.proposed(asked)
    assert len(proposed) > len(index.covering(asked))
    for row, point in enumerate(_points(index.shadows.inner(asked)[0])):
        mine = np.sort(proposed.stored[proposed.asked == row])
        assert mine.tolist() == tree.dominating(point).tolist()


def _points(boxes: Regions) -> NDArray[np.float64]:
    """The boxes of the segment, all bounded, as points of the range tree."""
    batches = [given.batch for given in boxes.constraints.values()]
    low, high = (
        np.stack([key_float(getattr(batch, side), DOUBLE) for batch in batches], axis=1)
        for side in ("lower", "upper")
    )
    return box_points(low, high)


@pytest.mark.parametrize("m", [1, 2, 3, 5])
@pytest.mark.parametrize("values", [3, 1_000])
def test_the_range_tree_finds_what_dominates(m: int, values: int) -> None:
    random = np.random.default_rng(m)
    points = random.integers(0, values, (400, m)).astype(np.float64)
    points[random.random((400, m)) < 0.05] = np.inf
    tree = RangeTree.build(points)
    for point in [*points[:50], *random.integers(0, values, (50, m))]:
        expected = np.flatnonzero((points >= point).all(axis=1))
        assert tree.dominating(point).tolist() == expected.tolist()


def test_it_counts_what_it_proposes_in_vain() -> None:
    stored, asked = _balls(800, law="uniform"), _balls(100, 800, law="uniform")
    index = Projected.build(stored, k=2)
    counted, proposed = index.false_covers(asked), index.proposed(asked)
    true = covers(stored, proposed.stored, asked, proposed.asked)  # type: ignore[arg-type]
    first = {a: bool(t) for a, t in zip(proposed.asked[::-1], true[::-1], strict=True)}
    covered = {int(a) for a in proposed.asked[true]}
    assert (counted.asked, counted.stored, counted.directions) == (100, 800, 2)
    assert (counted.candidates, counted.covers) == (len(proposed), int(true.sum()))
    assert counted.redundant == sum(not first[a] for a in covered) > 0
    false = len(proposed) - int(true.sum())
    assert counted.among_found == false / len(proposed)
    assert counted.among_non_covers == false / (100 * 800 - int(true.sum()))
    assert counted.among_non_covers < counted.expected == pytest.approx(4 / np.pi**2)


def test_more_directions_propose_less() -> None:
    stored, asked = _balls(1_000, d=12), _balls(100, 1_000, d=12)
    found = [len(Projected.build(stored, k=k).proposed(asked)) for k in (1, 4, 12)]
    assert found[0] > 2 * found[1] > 4 * found[2] > 0


def test_an_attribute_of_large_numbers_does_not_drown_another() -> None:
    """Microseconds since 1970, and a share: either is in units of its own widths."""
    boxes = UniformBoxes(2, 0.1)
    small, space = boxes.regions(0, 3_000), Space.of({"x1": pa.int64(), "x2": pa.float64()})
    batch = small.constraints["x1"].batch
    assert isinstance(batch, Scalars)
    low, high = (
        (1.7e15 + 1e12 * key_float(keys, DOUBLE)).astype(np.int64)
        for keys in (batch.lower, batch.upper)
    )
    times = Constraints(np.arange(3_000), Scalars.of(domain(BIGINT), low, high))
    large = Regions(space, 3_000, {"x1": times, "x2": small.constraints["x2"]})
    few, many = (len(Projected.build(r).proposed(r)) for r in (small, large))
    assert many == pytest.approx(few, rel=0.2)


def test_a_null_event_finds_what_admits_null_and_nothing_else() -> None:
    space = Space.of({"x": pa.float64(), "y": pa.float64()})
    texts = ["x IS NULL AND y = 1", "(x IS NULL OR x > 5) AND y = 1", "x > 5 AND y = 1", "y = 1"]
    parsed = parse(space, texts)
    rows = pa.table({"x": [None, 9.0, float("nan")], "y": [1.0, 1.0, 1.0]})
    found = Projected.build(parsed.regions).matching(Events.from_arrow(rows, space))
    alerts = {(e, int(parsed.of[r])) for e, r in found}
    assert alerts == {(0, 0), (0, 1), (0, 3), *((e, t) for e in (1, 2) for t in (1, 2, 3))}


def test_what_lies_in_several_balls_is_found_by_any_of_them() -> None:
    space = Space.of({"v": pa.list_(pa.float32())}, vectors={"v": 2})
    near = "vector_l2_distance(v, CAST(array({}, 0) AS ARRAY<FLOAT>)) <= {}"
    far_apart = [near.format(0, 9), near.format(100, 9)]
    both = parse(space, [" AND ".join([near.format(0, 1), near.format(100, 1)])]).regions
    balls = parse(space, far_apart).regions
    assert list(Projected.build(balls).covering(both)) == [(0, 0), (0, 1)]
    assert list(Projected.build(balls).covering(both, 1)) == [(0, 0)]
    assert list(Projected.build(both).covered_by(balls)) == [(0, 0), (1, 0)]


def test_a_vector_that_only_float32_takes_to_be_inside_is_found() -> None:
    """The radius is the distance as Spark computes it, which may be less than it is."""
    random, count = np.random.default_rng(0), 300
    scales = 10.0 ** random.integers(-3, 4, (2, count, 1))
    centres, vectors = (random.standard_normal((2, count, 1)) * scales).astype(np.float32)
    radii, _ = score(Metric.L2, vectors, centres)
    apart = np.abs(vectors.astype(np.float64) - centres)[:, 0]
    assert (apart > radii).sum() > 50
    space = Space.of({"v": pa.list_(pa.float32())}, vectors={"v": 1})
    regions = drawn.regions(space, [[drawn.Nearby("v", centres, radii)]])
    table = pa.table({"v": pa.array(vectors.tolist(), pa.list_(pa.float32()))})
    found = set(Projected.build(regions).matching(Events.from_arrow(table, space)))
    assert {(i, i) for i in range(count)} <= found


def test_a_ball_that_admits_null_is_found_by_null() -> None:
    space = Space.of({"v": pa.list_(pa.float32())}, vectors={"v": 2})
    ball = Ball(Metric.L2, (0.0, 0.0), 0, int(float_key(np.float32([1]))[0]))
    states = [State.VALUE, State.VALUE | State.NULL]
    balls = Balls.of([(state, [ball]) for state in states], 2)
    regions = Regions(space, 2, {"v": Constraints(np.arange(2), balls)})
    table = pa.table({"v": pa.array([None, [0.5, 0.5]], pa.list_(pa.float32()))})
    events = Events.from_arrow(table, space)
    found = Projected.build(regions).matching(events)
    assert set(found) == {(0, 1), (1, 0), (1, 1)}
    points = Projected.build(Regions.points(events))
    assert set(points.covered_by(regions)) == {(0, 1), (1, 0), (1, 1)}


def test_a_cosine_is_no_distance() -> None:
    space = Space.of({"v": pa.list_(pa.float32())}, vectors={"v": 2})
    similar = "vector_cosine_similarity(v, CAST(array(1, 0) AS ARRAY<FLOAT>)) <= 0.5F"
    table = pa.table({"v": pa.array([[-100.0, 0.0], [9.0, 1.0]], pa.list_(pa.float32()))})
    index = Projected.build(parse(space, [similar]).regions)
    assert list(index.matching(Events.from_arrow(table, space))) == [(0, 0)]


def test_a_wrong_kind_of_directions_is_named() -> None:
    with pytest.raises(ValueRefused, match="'gauss': there are orthonormal, signs, sparse"):
        Projected.build(_balls(3), kind="gauss")  # type: ignore[arg-type]


def test_the_study_counts_pairs_as_they_are() -> None:
    random = np.random.default_rng(0)
    centres, radii = random.random((80, 4)), np.sort(random.random(80))
    projected = centres @ Directions.orthonormal(3, 4, 0).matrix.T
    gaps = np.tril(radii[:, None] - radii, -1) + np.triu(np.full((80, 80), -1.0))
    within = np.abs(projected[:, None] - projected) <= gaps[:, :, None]
    apart = np.linalg.norm(centres[:, None] - centres, axis=2)
    found, true = projection._count(centres, radii, projected)
    assert found.tolist()[1:] == [within[:, :, :k].all(axis=2).sum() for k in (1, 2, 3)]
    assert true == (apart <= gaps).sum()
