"""The store: batches of changes become versions, versions stay, and there is one writer."""

from __future__ import annotations

import os
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import fs

from covey.errors import CoveyError, InvalidArgumentError, SchemaError, StoreError
from covey.geometry import Regions
from covey.language import Parser, parse
from covey.space import SessionSettings, Space
from covey.store import Cache, Changes, IdKind, Store
from covey.store.storage.backend import PARTIAL_SUFFIX
from tests.store.simple import SPACE, TINY, changes, match_values, sizes


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.create(tmp_path / "store", SPACE, merge_policy=TINY)


def test_a_new_store_is_version_0_and_matches_nothing(store: Store) -> None:
    assert store.versions == [0]
    assert len(store.snapshot()) == 0
    assert match_values(store.snapshot(), 1, None) == []


def test_every_batch_is_a_version_that_stays(store: Store) -> None:
    first = store.apply(changes({1: "x > 1", 2: "x > 2"}))
    second = store.apply(changes({2: "x < 0", 3: "x = 5"}, removed=[1]))
    assert (first.version, second.version, store.versions) == (1, 2, [0, 1, 2])
    assert match_values(store.snapshot(), 5, -1) == [(0, 3), (1, 2)]
    assert match_values(store.snapshot(1), 5, -1) == [(0, 1), (0, 2)]
    assert match_values(store.snapshot(0), 5, -1) == []
    assert [len(store.snapshot(number)) for number in (0, 1, 2)] == [0, 2, 2]


def test_a_reopened_store_has_the_same_state(store: Store, tmp_path: Path) -> None:
    for i in range(10):
        store.apply(changes({i: f"x > {i}", 100 + i: f"x < {i}"}, removed=[i - 3]))
    store.close()
    again = Store.open(tmp_path / "store")
    assert again.space == SPACE
    assert match_values(again.snapshot(), 3, 8) == match_values(store.snapshot(), 3, 8)
    assert again.apply(changes({7: "x > 7"})).version == 11


def test_changes_without_effect_make_no_version(store: Store) -> None:
    store.apply(changes({1: "x > 1"}))
    assert store.apply(Changes.remove([5, 6])).version == 1
    assert store.apply(changes({})).version == 1
    assert store.versions == [0, 1]


def test_small_batches_share_a_segment_until_it_is_full(store: Store) -> None:
    for i in range(6):
        version = store.apply(changes({i: "x > 1"}))
    assert sizes(version) == [(4, 0), (2, 0)]
    assert version.tombstones_file is None


def test_a_change_modifies_older_segments_only_by_tombstones(store: Store) -> None:
    before = store.apply(changes(dict.fromkeys(range(10), "x > 1")))
    after = store.apply(changes({3: "x < 1", 20: "x < 1"}, removed=[4]))
    assert after.segments[0].file == before.segments[0].file
    assert sizes(after) == [(10, 2), (2, 0)]
    assert match_values(store.snapshot(), 0) == [(0, 3), (0, 20)]


def test_a_segment_of_dead_rows_is_dropped(store: Store) -> None:
    store.apply(changes(dict.fromkeys(range(10), "x > 1")))
    version = store.apply(Changes.remove(list(range(10))))
    assert version.segments == ()
    assert len(store.snapshot()) == 0


def test_an_unsatisfiable_predicate_is_stored_as_a_subscription(store: Store) -> None:
    version = store.apply(changes({1: "x > 1", 2: "x > 1 AND x < 0"}))
    assert version.subscriptions == 2
    assert store.snapshot().find_rows([2, 1, 3]).min() == -1
    assert match_values(store.snapshot(), 5) == [(0, 1)]
    assert len(store.apply(Changes.remove([2])).segments) == 1
    only_never = changes({9: "x > 1 AND x < 0"})
    assert store.apply(only_never).subscriptions == 2


def test_ids_may_be_text(tmp_path: Path) -> None:
    with Store.create(tmp_path / "store", SPACE, id_kind=IdKind.TEXT, merge_policy=TINY) as store:
        for i in range(9):
            store.apply(changes({f"a{i}": f"x > {i}", "é": f"x = {i}"}, removed=[f"a{i - 2}"]))
        assert match_values(store.snapshot(), 8) == [(0, "a7"), (0, "é")]
        with pytest.raises(InvalidArgumentError, match="the ids of this store must be text"):
            store.apply(changes({7: "x > 1"}))


def test_only_needed_derived_attributes_stay_in_the_space(store: Store) -> None:
    parser = Parser(SPACE)
    for i in range(8):
        texts = [f"abs(x) > {i}", f"x % 2 = {i}"]
        version = store.apply(Changes.upsert([i, i + 100], parser.parse(texts)))
    assert [a.name for a in version.space.derived] == [a.name for a in parser.space.derived]
    version = store.apply(Changes.remove([i + 100 for i in range(8)]))
    while merged := store.merge():
        version = merged
    version = store.apply(changes({50: "x > 1"}))
    assert [a.name for a in version.space.derived] == [a.name for a in parser.space.derived][:1]


def test_wrong_changes_are_refused_completely(store: Store) -> None:
    store.apply(changes({1: "x > 1"}))
    wrong = [
        Changes([1, 1], parse(SPACE, ["x > 5", "x > 6"]).regions, np.array([0, 1])),
        changes({2: "x > 2"}, removed=[2]),
        Changes([7], parse(SPACE, ["x > 5"]).regions, np.array([1])),
        Changes([7], parse(SPACE, ["x > 5"]).regions, np.array([], np.int64)),
        Changes.upsert([7], parse(Space.from_types({"y": pa.int64()}), ["y > 5"])),
        Changes.upsert(
            [7], parse(replace(SPACE, settings=SessionSettings("Asia/Tokyo")), ["x > 5"])
        ),
        Changes.remove(["a"]),
    ]
    for change in wrong:
        with pytest.raises(CoveyError):
            store.apply(change)
    assert store.versions == [0, 1]
    assert match_values(store.snapshot(), 9) == [(0, 1)]


def test_a_wrong_batch_is_reported_with_its_problem(store: Store) -> None:
    with pytest.raises(InvalidArgumentError, match="id 2 occurs twice in one batch"):
        store.apply(changes({2: "x > 2"}, removed=[2]))
    with pytest.raises(InvalidArgumentError, match="2 ids for 1 predicates"):
        Changes.upsert([1, 2], parse(SPACE, ["x > 5"]))
    with pytest.raises(CoveyError, match="did you mean"):
        Changes.upsert([1], Parser(Space.from_types({"price": pa.int64()})).parse(["prise > 5"]))
    with pytest.raises(SchemaError, match=r"parse predicates in `store.space`"):
        store.apply(Changes.upsert([7], parse(Space.from_types({"y": pa.int64()}), ["y > 5"])))


def test_a_second_writer_is_refused(store: Store, tmp_path: Path) -> None:
    second = Store.open(tmp_path / "store")
    store.apply(changes({1: "x > 1"}))
    with pytest.raises(StoreError, match=f"another writer has .* open .process {os.getpid()}"):
        second.apply(changes({2: "x > 2"}))
    assert match_values(second.snapshot(), 9) == [(0, 1)]
    store.close()
    assert second.apply(changes({2: "x > 2"})).version == 2
    assert match_values(second.snapshot(), 9) == [(0, 1), (0, 2)]


def test_a_location_has_at_most_one_store(store: Store, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"there is a store at .* already"):
        Store.create(tmp_path / "store", SPACE)
    with pytest.raises(StoreError, match="there is no store at"):
        Store.open(tmp_path / "elsewhere")


def test_a_remote_store_is_read_through_the_cache(tmp_path: Path) -> None:
    memory, cache = fs._MockFileSystem(), Cache(tmp_path / "cache")
    writer = Store.create("place", SPACE, filesystem=memory, cache=cache, merge_policy=TINY)
    for i in range(9):
        version = writer.apply(changes({i: f"x > {i}"}, removed=[i - 4]))
    reader = Store.open("place", filesystem=memory, cache=Cache(tmp_path / "other"))
    assert (
        match_values(reader.snapshot(), 7) == match_values(writer.snapshot(), 7) == [(0, 5), (0, 6)]
    )
    cached = {path.name for path in (tmp_path / "other").iterdir()}
    assert cached == version.files | {"locks"}
    memory.delete_dir("place/files")
    with pytest.raises(StoreError, match="does not exist in mock:place"):
        Store.open("place", filesystem=memory, cache=Cache(tmp_path / "third")).snapshot()


def test_the_next_version_opens_only_new_segments(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.apply(changes(dict.fromkeys(range(10), "x > 1")))
    reader = Store.open(tmp_path / "store")
    first = reader.snapshot()
    store.apply(changes({20: "x > 1"}))
    second = reader.snapshot()
    assert second.manifest.version == first.manifest.version + 1
    assert second.live_segments[0].subscriptions is first.live_segments[0].subscriptions


def test_a_deleted_file_raises_a_store_error(store: Store, tmp_path: Path) -> None:
    version = store.apply(changes({1: "x > 1"}))
    (tmp_path / "store" / "files" / version.segments[0].file).unlink()
    with pytest.raises(StoreError, match="does not exist"):
        Store.open(tmp_path / "store").snapshot()


def test_a_snapshot_outlives_its_files(store: Store, tmp_path: Path) -> None:
    store.apply(changes({1: "x > 1"}))
    snapshot = Store.open(tmp_path / "store").snapshot()
    for path in (tmp_path / "store" / "files").iterdir():
        path.unlink()
    assert match_values(snapshot, 5) == [(0, 1)]


def test_a_failed_commit_is_looked_up_again(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error may be raised after the manifest was written: then the next change builds on it."""
    store.apply(changes({1: "x > 1"}))
    publish = type(store._backend).put_if_absent

    def late(self: object, name: str, content: bytes) -> None:
        publish(self, name, content)  # type: ignore[arg-type]
        raise OSError("no answer")

    with monkeypatch.context() as patched:
        patched.setattr(type(store._backend), "put_if_absent", late)
        with pytest.raises(OSError, match="no answer"):
            store.apply(changes({2: "x > 2"}))
    assert store.apply(changes({3: "x > 3"})).version == 3
    assert match_values(store.snapshot(), 9) == [(0, 1), (0, 2), (0, 3)]


def test_no_partial_file_remains(store: Store, tmp_path: Path) -> None:
    for i in range(9):
        store.apply(changes({i: f"x > {i}"}, removed=[i - 4]))
    assert not list((tmp_path / "store").rglob(f"*{PARTIAL_SUFFIX}"))


def test_threads_may_change_and_read_at_the_same_time(store: Store) -> None:
    def change(first: int) -> None:
        for i in range(5):
            store.apply(changes({first + i: "x > 1"}))
            assert len(store.snapshot()) > i

    threads = [threading.Thread(target=change, args=(100 * n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(match_values(store.snapshot(), 9)) == 20
    assert store.versions == list(range(21))


def test_regions_may_be_stored_without_predicates(store: Store) -> None:
    everything = Regions(SPACE, 1, {})
    store.apply(Changes([7], everything, np.array([0])))
    assert match_values(store.snapshot(), 1, None) == [(0, 7), (1, 7)]
