"""Segments that many processes stage and one version commits, and copies of versions."""

from __future__ import annotations

from pathlib import Path

import pytest

from covey.errors import StoreError
from covey.store import IdKind, StagedSegment, Store, copy_version
from covey.store.merge.operation import write_merged
from covey.store.storage.content_store import FILES_FOLDER
from tests.store.simple import SPACE, TINY, changes, match_values, sizes


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.create(tmp_path / "store", SPACE)


def test_staged_segments_count_after_their_commit(store: Store, tmp_path: Path) -> None:
    store.apply(changes({1: "x > 1", 2: "x > 2", 3: "x > 3"}))
    other = Store.open(tmp_path / "store")  # needs no lock
    parts = [other.stage(changes({2: "x = 0"})), other.stage(changes({7: "x < 0 OR x > 8"}))]
    removed_part = other.stage(changes({3: "false"}))
    assert other.stage(changes({}, removed=[1])) is None
    put = [part for part in parts if part is not None]
    assert removed_part is not None
    assert [part.subscriptions for part in put] == [1, 1]
    assert match_values(store.snapshot(), 9) == [(0, 1), (0, 2), (0, 3)]
    version = store.commit_staged(put, [removed_part])
    assert version.version == 2
    assert match_values(store.snapshot(), 9, 0, -1) == [(0, 1), (0, 7), (1, 2), (2, 7)]


def test_a_commit_makes_one_segment_and_leaves_no_other_file(store: Store, tmp_path: Path) -> None:
    put = [store.stage(changes({i: f"x = {i}"})) for i in range(5)]
    version = store.commit_staged([part for part in put if part is not None])
    assert sizes(version) == [(5, 0)]
    assert {file.name for file in (tmp_path / "store" / FILES_FOLDER).iterdir()} == version.files


def test_a_repeated_attempt_returns_the_version_of_the_first(store: Store) -> None:
    part = store.stage(changes({1: "x > 1"}))
    assert part is not None
    first = store.commit_staged([part], label="fit 1")
    store.apply(changes({2: "x > 2"}))
    again = store.commit_staged([part], label="fit 1")  # its file is deleted, which does not matter
    assert again == first
    assert store.versions == [0, 1, 2]
    with pytest.raises(StoreError, match="does not exist"):
        store.commit_staged([part], label="fit 2")


def stage_each(store: Store, *put: dict[object, str]) -> list[StagedSegment]:
    parts = [store.stage(changes(each)) for each in put]
    return [part for part in parts if part is not None]


def test_overwriting_leaves_only_the_new_subscriptions(store: Store, tmp_path: Path) -> None:
    store.apply(changes({1: "x > 1", 2: "x > 2"}))
    version = store.overwrite(stage_each(store, {2: "x = 0"}, {3: "x > 3"}), label="all")
    assert (version.version, sizes(version)) == (2, [(1, 0), (1, 0)])
    assert match_values(store.snapshot(), 9, 0) == [(0, 3), (1, 2)]
    assert store.snapshot().find_rows([1]).tolist() == [-1]
    assert match_values(store.snapshot(1), 9) == [(0, 1), (0, 2)]
    store.apply(changes({1: "x = 9"}))
    store.close()
    again = Store.open(tmp_path / "store")
    assert again.overwrite([], label="all") == version  # a repeated attempt
    assert match_values(again.snapshot(), 9, 0) == [(0, 1), (0, 3), (1, 2)]


def test_overwriting_with_nothing_leaves_an_empty_version(store: Store) -> None:
    before = store.apply(changes({1: "x > 1"}))
    version = store.overwrite([])
    assert (version.version, version.subscriptions, version.segments) == (2, 0, ())
    assert store.overwrite([]) == version  # no difference, so no new version
    assert match_values(store.snapshot(before.version), 9) == [(0, 1)]


def test_overwriting_keeps_the_identity_of_a_store(tmp_path: Path) -> None:
    with Store.create(tmp_path / "store", SPACE, id_kind=IdKind.TEXT) as store:
        base = store.apply(changes({"a": "abs(x) > 1"}))
        store.apply(changes({"b": "x > 2"}))
        version = store.overwrite(stage_each(store, {"c": "x = 0"}))
        assert version.id_kind is IdKind.TEXT
        assert version.space == base.space.without_derived  # no region constrains abs(x) any more
        assert match_values(store.snapshot(), 0, 9) == [(0, "c")]


def test_a_merge_restores_nothing_into_an_overwritten_store(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "store", SPACE, merge_policy=TINY)
    for i in range(12):
        store.apply(changes({i: "x > 1"}))
    merge = store._writer.claim_merge()
    assert merge is not None
    store.overwrite(stage_each(store, {3: "x = 0"}))
    built = write_merged(merge, store._writer.content_store)
    assert built
    version = store._writer.finish_merge(merge, built)
    assert sizes(version) == [(1, 0)]
    assert match_values(store.snapshot(), 9, 0) == [(1, 3)]


def test_merging_keeps_the_label(store: Store) -> None:
    """A repeated attempt therefore returns the merged version."""
    for n in range(2):
        part = store.stage(changes({9_000 * n + i: f"x = {i}" for i in range(9_000)}))
        assert part is not None
        loaded = store.commit_staged([part], label=f"fit {n}")
    merged = store.merge()
    assert merged is not None
    assert sizes(loaded) == [(9_000, 0), (9_000, 0)]
    assert sizes(merged) == [(18_000, 0)]
    assert store.commit_staged([part], label="fit 1") == merged


def test_a_version_is_copied_as_the_next_version_of_another_store(
    store: Store, tmp_path: Path
) -> None:
    store.apply(changes({1: "x > 1", 2: "x > 2"}))
    version = store.apply(changes({}, removed=[2]))
    target = tmp_path / "elsewhere" / "copy"
    assert copy_version(tmp_path / "store", target, version.version, "a").version == 0
    assert copy_version(tmp_path / "store", target, 1, "b").version == 1
    assert copy_version(tmp_path / "store", target, 1, "b").version == 1  # a repeated attempt
    store.close()
    copy = Store.open(target)
    assert copy.versions == [0, 1]
    assert match_values(copy.snapshot(0), 5) == [(0, 1)]
    assert match_values(copy.snapshot(1), 5) == [(0, 1), (0, 2)]
    assert [file.name for file in (target / FILES_FOLDER).iterdir() if "partial" in file.name] == []


def test_ids_from_the_index_equal_ids_of_rows(store: Store) -> None:
    """Only for one segment without tombstones does the index return ids directly."""
    predicates = {i: f"x BETWEEN {i} AND {i + 40}" for i in range(100)}
    store.apply(changes(predicates))
    alone = match_values(store.snapshot(), *range(-5, 150, 5))
    assert alone == [
        (row, i) for row, x in enumerate(range(-5, 150, 5)) for i in range(100) if i <= x <= i + 40
    ]
    store.apply(changes({500: "x = -100"}))
    store.apply(changes({}, removed=[500, 3]))
    assert match_values(store.snapshot(), *range(-5, 150, 5)) == [
        pair for pair in alone if pair[1] != 3
    ]
