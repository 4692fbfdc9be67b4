"""Merging changes no answer, even if other changes are made in between."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyarrow import fs

from covey.errors import StoreError
from covey.store import BackgroundMerger, Cache, Changes, Store
from covey.store.merge import background
from covey.store.merge.operation import MergedSegment, MergeOperation, write_merged
from covey.store.merge.process import MergeProcess
from covey.store.storage.backend import PARTIAL_SUFFIX
from covey.store.storage.content_store import ContentStore
from tests.store.simple import SPACE, TINY, changes, match_values, sizes

EVENTS = (-3, 2, 5, 50)


def fill(store: Store) -> Store:
    """Fill a store with several segments that have tombstones, and return it."""
    for i in range(12):
        store.apply(changes({i: f"x > {i}", 100 + i: f"x < {i} OR x = 50"}, removed=[i - 3]))
    return store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return fill(Store.create(tmp_path / "store", SPACE, merge_policy=TINY))


def test_merging_changes_no_answer(store: Store) -> None:
    before = match_values(store.snapshot(), *EVENTS)
    many = len(store.snapshot().live_segments)
    while store.merge():
        assert match_values(store.snapshot(), *EVENTS) == before
    assert len(store.snapshot().live_segments) < many
    assert store.snapshot().manifest.subscriptions == 15
    assert store._writer.claim_merge() is None


def test_merged_segments_have_no_tombstones(store: Store) -> None:
    while store.merge():
        pass
    assert all(dead == 0 for _, dead in sizes(store.snapshot().manifest)[:-1])


def test_changes_during_a_merge_are_kept(store: Store) -> None:
    merge = store._writer.claim_merge()
    assert merge is not None
    before = len(store.snapshot())
    inside, other = (part.take_live().ids.values[0].as_py() for part in merge.segments[:2])
    store.apply(changes({inside: "x = -3", 500: "x = 2"}, removed=[other]))
    finish(store, merge)
    found = match_values(store.snapshot(), *EVENTS)
    assert [row for row, id_ in found if id_ == inside] == [0]
    assert [row for row, id_ in found if id_ == 500] == [1]
    assert other not in {id_ for _, id_ in found}
    assert len(store.snapshot()) == before


def test_an_input_removed_completely_during_a_merge_stays_removed(store: Store) -> None:
    merge = store._writer.claim_merge()
    assert merge is not None
    removed_ids = [
        id_ for part in merge.segments[:2] for id_ in part.subscriptions.ids.values.to_pylist()
    ]
    store.apply(Changes.remove(removed_ids))
    expected = match_values(store.snapshot(), *EVENTS)
    finish(store, merge)
    assert match_values(store.snapshot(), *EVENTS) == expected


def test_a_merge_of_removed_subscriptions_leaves_no_segment(store: Store) -> None:
    merge = store._writer.claim_merge()
    assert merge is not None
    store.apply(Changes.remove(list(range(200))))
    finish(store, merge)
    assert store.snapshot().manifest.segments == ()


def test_a_segment_rewritten_with_equal_content_is_not_mistaken_for_a_merge_input(
    tmp_path: Path,
) -> None:
    """Equal files with equal names would lose the tombstones from the time of the claim."""
    store = Store.create(tmp_path / "store", SPACE, merge_policy=TINY)
    first = {i: f"x > {i}" for i in range(6)}
    store.apply(changes(first))
    store.apply(changes(dict.fromkeys(range(10, 16), "x < 0"), removed=[0]))
    merge = store._writer.claim_merge()
    assert merge is not None
    store.apply(Changes.remove(list(range(6))))
    store.apply(changes(first))
    finish(store, merge)
    assert [id_ for _, id_ in match_values(store.snapshot(), 50)] == list(first)


def test_two_merges_never_share_a_segment(store: Store) -> None:
    first = store._writer.claim_merge()
    assert first is not None
    for i in range(20, 32):
        store.apply(changes({i: "x = 2"}))
    second = store._writer.claim_merge()
    assert second is not None
    assert not first.files & second.files
    expected = match_values(store.snapshot(), *EVENTS)
    finish(store, second)
    finish(store, first)
    assert match_values(store.snapshot(), *EVENTS) == expected


def finish(store: Store, merge: MergeOperation) -> None:
    """Finish a merge as `Store.merge` does after its claim."""
    built = write_merged(merge, store._writer.content_store)
    assert built
    store._writer.finish_merge(merge, built)
    store._writer.release_merge(merge)


@pytest.fixture(scope="module")
def process() -> Iterator[MergeProcess]:
    one = MergeProcess()
    yield one
    one.close()


@pytest.mark.parametrize("place", ["local", "elsewhere"])
def test_a_merge_in_another_process_is_the_same(
    place: str, process: MergeProcess, tmp_path: Path
) -> None:
    filesystem = None if place == "local" else fs._MockFileSystem()
    name = str(tmp_path / "store") if place == "local" else "store"
    cache = Cache(tmp_path / "cache")
    store = fill(Store.create(name, SPACE, filesystem=filesystem, cache=cache, merge_policy=TINY))
    expected = match_values(store.snapshot(), *EVENTS)
    merge = store._writer.claim_merge()
    assert merge is not None
    built = process.run(merge, store._writer.content_store)
    version = store._writer.finish_merge(merge, built)
    assert [one.file for one in built if one.file in version.files]
    assert match_values(store.snapshot(), *EVENTS) == expected
    assert not list(tmp_path.rglob(f"*{PARTIAL_SUFFIX}"))


def test_a_failure_in_the_merge_process_is_reported(
    process: MergeProcess, store: Store, tmp_path: Path
) -> None:
    merge = store._writer.claim_merge()
    assert merge is not None
    (tmp_path / "store" / "files" / merge.segments[0].file).unlink()
    with pytest.raises(StoreError, match=r"a merge failed: StoreError: .* does not exist"):
        process.run(merge, store._writer.content_store)


def test_a_killed_merge_process_raises_a_store_error(store: Store) -> None:
    process = MergeProcess()
    merge = store._writer.claim_merge()
    assert merge is not None
    process.kill()
    with pytest.raises(StoreError, match="the merge process ended"):
        process.run(merge, store._writer.content_store)
    process.close()


def test_a_background_merger_merges_during_changes(tmp_path: Path) -> None:
    with Store.create(tmp_path / "store", SPACE, merge_policy=TINY) as store:
        with BackgroundMerger(store, processes=1) as merging:
            model: dict[object, str] = {}
            for i in range(60):
                put = {i % 40: f"x > {i % 50}", 100 + i: f"x < {i}"}
                store.apply(changes(put, removed=[100 + i - 9]))
                model = {**model, **put}
                model.pop(100 + i - 9, None)
            wait_until(lambda: len(store.snapshot().live_segments) <= 6)
            assert merging.last_error is None
        other = Store.create(tmp_path / "other", SPACE)
        other.apply(changes(model))
        assert match_values(store.snapshot(), *EVENTS) == match_values(other.snapshot(), *EVENTS)


def test_a_failed_merge_is_retried(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(background, "_RETRY_SECONDS", 0.01)
    failures = [StoreError("no luck")]

    class Unlucky:
        """A merge process that fails once, and then merges in this process."""

        def run(self, merge: MergeOperation, files: ContentStore) -> list[MergedSegment]:
            if failures:
                raise failures.pop()
            return write_merged(merge, files)

        def kill(self) -> None: ...

        def close(self) -> None: ...

    monkeypatch.setattr(background, "MergeProcess", Unlucky)
    many = len(store.snapshot().live_segments)
    with BackgroundMerger(store, processes=1):
        wait_until(lambda: len(store.snapshot().live_segments) < many)
    assert "no luck" in caplog.text


def wait_until(holds: Callable[[], bool], seconds: float = 600) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "the condition did not become true in time"
        time.sleep(0.02)
