"""Revisions stay with their subscriptions when segments are merged, staged or reopened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from covey.errors import InvalidArgumentError
from covey.language import Parser
from covey.store import Changes, IdKind, Store
from covey.store.merge.process import MergeProcess
from covey.store.storage.array_file import open_array_file
from tests.store.simple import SPACE, TINY, changes

NEVER = "x > 1 AND x < 0"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.create(tmp_path / "store", SPACE, merge_policy=TINY)


def make_changes(put: Mapping[object, int], removed: Sequence[object] = ()) -> Changes:
    """Return changes with revisions by id; every third has two regions, every fifth none."""
    texts = [NEVER if i % 5 == 4 else "x = 1 OR x = 9" if i % 3 == 2 else "x > 1"
             for i in range(len(put))]  # fmt: skip
    parsed = Parser(SPACE).parse(texts)
    return Changes.upsert(list(put), parsed, removed_ids=removed, revisions=list(put.values()))


def read_revisions(store: Store) -> dict[object, int]:
    """Return the revisions by id in the newest version."""
    snapshot = store.snapshot()
    ids = snapshot.take_ids(snapshot.rows).to_pylist()
    return dict(zip(ids, snapshot.take_revisions(snapshot.rows).tolist(), strict=True))


def test_a_revision_is_that_of_the_last_change(store: Store) -> None:
    store.apply(make_changes({9: 90, 3: -(1 << 63), 5: (1 << 63) - 1, 1: 10, 7: 70}))
    assert read_revisions(store) == {9: 90, 3: -(1 << 63), 5: (1 << 63) - 1, 1: 10, 7: 70}
    # smaller than before: the store does not compare revisions
    store.apply(make_changes({5: 4, 2: 20}, removed=[9]))
    assert read_revisions(store) == {3: -(1 << 63), 5: 4, 1: 10, 7: 70, 2: 20}
    store.apply(changes({5: "x > 1"}))
    assert read_revisions(store)[5] == 0


def test_revisions_are_read_in_any_order(store: Store) -> None:
    for i in range(12):
        store.apply(make_changes({i: i * 10, 100 + i: i}))
    snapshot = store.snapshot()
    assert len(snapshot.live_segments) > 2
    rows = snapshot.find_rows([11, 0, 555, 103, 0])
    assert snapshot.take_revisions(rows).tolist() == [110, 0, 0, 3, 0]
    assert snapshot.take_revisions(rows).dtype == np.int64
    assert snapshot.take_revisions(rows[:0]).tolist() == []


@pytest.mark.parametrize("kind", list(IdKind))
def test_merging_and_reopening_keep_revisions(kind: IdKind, tmp_path: Path) -> None:
    name = str if kind is IdKind.TEXT else int
    with Store.create(tmp_path / "store", SPACE, id_kind=kind, merge_policy=TINY) as store:
        for i in range(30, 0, -1):
            store.apply(make_changes({name(i): i * 7, name(i % 4 + 100): i}, removed=[name(i + 9)]))
        expected = read_revisions(store)
        while store.merge():
            assert read_revisions(store) == expected
    assert read_revisions(Store.open(tmp_path / "store")) == expected


def test_a_merge_in_another_process_keeps_revisions(store: Store) -> None:
    for i in range(12):
        store.apply(make_changes({i: i * 7, 100 - i: i}, removed=[i - 4]))
    expected = read_revisions(store)
    merge = store._writer.claim_merge()
    assert merge is not None
    process = MergeProcess()
    built = process.run(merge, store._writer.content_store)
    process.close()
    assert built
    store._writer.finish_merge(merge, built)
    assert read_revisions(store) == expected


def test_staged_segments_keep_revisions(store: Store) -> None:
    store.apply(make_changes({1: 10, 2: 20}))
    parts = [store.stage(make_changes({5: 50, 2: 21})), store.stage(changes({4: "x > 1"}))]
    store.commit_staged([part for part in parts if part is not None])
    assert read_revisions(store) == {1: 10, 2: 21, 4: 0, 5: 50}


def test_segments_without_revisions_store_no_array_for_them(store: Store, tmp_path: Path) -> None:
    for changes_ in (changes({1: "x > 1"}), make_changes({2: 0, 3: 0})):
        version = store.apply(changes_)
        file = version.segments[-1].file
        arrays = open_array_file(tmp_path / "store" / "files" / file, file).arrays
        assert "revisions" not in arrays
        assert read_revisions(Store.open(tmp_path / "store")) == dict.fromkeys(
            read_revisions(store), 0
        )


@pytest.mark.parametrize("wrong", [[1], [1, 2, 3], [1.5, 2.0], [1 << 63, 0], ["a", "b"], [[1, 2]]])
def test_revisions_other_than_one_int64_per_id_are_refused(store: Store, wrong: object) -> None:
    predicates = Parser(SPACE).parse(["x > 1", "x > 2"])
    with pytest.raises(
        InvalidArgumentError, match="`revisions` must be one int64 for each of 2 ids"
    ):
        store.apply(Changes.upsert([1, 2], predicates, revisions=wrong))
    assert store.versions == [0]
