"""The answers of a snapshot, by rows and by ids."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from covey.language import parse
from covey.space import Events
from covey.store import IdKind, Snapshot, Store
from tests.store.simple import SPACE, TINY, changes, match_values

TEXTS = {
    1: "x > 5",
    2: "x BETWEEN 1 AND 3 OR x BETWEEN 2 AND 4",  # overlapping regions
    3: "x IN (1, 7) OR x < -5",
    4: "x = 100",
    5: "x BETWEEN 0 AND 10",
    6: "x > 0 AND x < 0",
    9: "x = 777",
}


@pytest.fixture(params=list(IdKind), scope="module")
def snapshot(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    location = tmp_path_factory.mktemp("snapshot") / "store"
    with Store.create(location, SPACE, id_kind=request.param, merge_policy=TINY) as store:
        name = str if request.param is IdKind.TEXT else int
        store.apply(changes({name(id_): "x = 777" for id_ in range(10)}))
        for id_ in range(1, 7):
            store.apply(changes({name(id_): TEXTS[id_]}))
        store.apply(changes({}, removed=[name(id_) for id_ in (0, 7, 8)]))
        found = store.snapshot()
        assert len(found.live_segments) > 2
        return found


def read_numbers(snapshot: Snapshot, rows: np.ndarray) -> list[int]:
    return [int(id_) for id_ in snapshot.take_ids(rows).to_pylist()]


def test_each_event_notifies_a_subscription_once(snapshot: Snapshot) -> None:
    found = [(row, int(id_)) for row, id_ in match_values(snapshot, 2, 7, -9, 100)]  # type: ignore[call-overload]
    assert found == [(0, 2), (0, 5), (1, 1), (1, 3), (1, 5), (2, 3), (3, 1), (3, 4)]


def test_pairs_are_sorted_and_have_ids(snapshot: Snapshot) -> None:
    pairs = snapshot.match(Events.from_arrow(pa.table({"x": [2, 7]}), SPACE))
    assert list(pairs) == sorted(set(pairs))
    assert sorted(read_numbers(snapshot, pairs.stored_rows)) == [1, 2, 3, 5, 5]


def test_rows_and_ids_are_mapped_to_each_other(snapshot: Snapshot) -> None:
    rows = snapshot.rows
    assert sorted(read_numbers(snapshot, rows)) == [1, 2, 3, 4, 5, 6, 9]
    assert snapshot.find_rows(snapshot.take_ids(rows)).tolist() == rows.tolist()
    back = rows[::-1]
    assert read_numbers(snapshot, back) == read_numbers(snapshot, rows)[::-1]
    assert read_numbers(snapshot, rows[:0]) == []


def test_a_removed_subscription_is_not_found(snapshot: Snapshot) -> None:
    ids = pa.array([7, 1, 55]).cast(snapshot.take_ids(snapshot.rows).type)
    rows = snapshot.find_rows(ids)
    assert (rows >= 0).tolist() == [False, True, False]


def test_regions_are_returned_with_their_subscriptions(snapshot: Snapshot) -> None:
    rows = snapshot.rows[::-1]
    regions, of = snapshot.take_regions(rows)
    ids = read_numbers(snapshot, rows)
    for row, id_ in enumerate(ids):
        own_regions = regions.take(np.flatnonzero(of == row))
        expected = parse(SPACE, [TEXTS[id_]]).regions
        assert describe(own_regions) == describe(expected)


def describe(regions: object) -> set[tuple[object, ...]]:
    batch = regions.constraints["x"].batch if len(regions) else None  # type: ignore
    if batch is None:
        return set()
    return {
        (int(a), int(b), bool(n), int(k), tuple(batch.lists.row(i).tolist()))
        for i, (a, b, n, k) in enumerate(
            zip(batch.lower, batch.upper, batch.nulls, batch.listed, strict=True)
        )
    }


QUERY = parse(SPACE, ["x BETWEEN 2 AND 3", "x > 4", "x < 200 AND x > -100"]).regions


def group_by_query(snapshot: Snapshot, pairs: object) -> list[set[int]]:
    found: list[set[int]] = [set() for _ in range(len(QUERY))]
    for query_row, stored_row in pairs:  # type: ignore[attr-defined]
        found[query_row].add(read_numbers(snapshot, np.array([stored_row]))[0])
    return found


def test_a_subscription_covers_if_one_of_its_regions_does(snapshot: Snapshot) -> None:
    assert group_by_query(snapshot, snapshot.find_covering(QUERY)) == [{2, 5}, set(), set()]


def test_a_subscription_is_covered_if_all_of_its_regions_are(snapshot: Snapshot) -> None:
    assert group_by_query(snapshot, snapshot.find_covered(QUERY)) == [set(), {1, 4, 9}, {2, 4, 5}]


def test_a_subscription_overlaps_if_any_of_its_regions_does(snapshot: Snapshot) -> None:
    assert group_by_query(snapshot, snapshot.find_overlapping(QUERY)) == [
        {2, 5},
        {1, 3, 4, 5, 9},
        {1, 2, 3, 4, 5},
    ]


def test_an_empty_snapshot_answers_nothing(tmp_path: Path) -> None:
    snapshot = Store.create(tmp_path / "store", SPACE, id_kind=IdKind.TEXT).snapshot()
    assert snapshot.take_ids(snapshot.rows).to_pylist() == []
    assert len(snapshot.find_covered(QUERY)) == len(snapshot.find_covering(QUERY)) == 0
    assert snapshot.find_rows(["a"]).tolist() == [-1]
    assert len(snapshot.take_regions(snapshot.rows)[0]) == 0


def test_candidates_include_dead_rows(snapshot: Snapshot) -> None:
    events = Events.from_arrow(pa.table({"x": [777]}), SPACE)
    found, with_ids = snapshot.match(events), snapshot.match_ids(events)
    assert sorted(read_numbers(snapshot, found.stored_rows)) == [1, 9]
    assert found.candidates == with_ids.candidates > len(found) == len(with_ids)
    assert len(found.forwarded_pairs) == len(with_ids.forwarded_pairs) == 0
