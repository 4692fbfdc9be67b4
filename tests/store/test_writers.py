"""Several writers of a store in an object store: nothing that was acknowledged is lost."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from obstore.store import MemoryStore

from covey.errors import StoreError
from covey.store import Manifest, Store
from covey.store.manifest.manifest import manifest_name, publish_manifest, read_manifest
from covey.store.storage import location
from covey.store.storage.arrow_fs import ArrowBackend
from covey.store.storage.backend import AlreadyExistsError
from covey.store.storage.object_store import ObjectBackend
from tests.store.simple import SPACE, TINY, changes, match_values

URI = "s3://bucket/alerts"


@pytest.fixture(autouse=True)
def backend(monkeypatch: pytest.MonkeyPatch) -> ObjectBackend:
    """Make all stores at `URI` use the same object store."""
    backend = ObjectBackend(MemoryStore(), URI)
    monkeypatch.setattr(location, "open_object_store", lambda uri: backend)
    return backend


def run_before_put(
    monkeypatch: pytest.MonkeyPatch, backend: ObjectBackend, action: Callable[[], object]
) -> None:
    """Do something when the next manifest has been made and not yet written."""
    put, actions = ObjectBackend.put_if_absent, [action]

    def put_later(self: ObjectBackend, name: str, content: bytes) -> None:
        while actions:
            actions.pop()()
        put(self, name, content)

    monkeypatch.setattr(ObjectBackend, "put_if_absent", put_later)


def test_the_second_of_two_writers_applies_its_changes_to_the_version_of_the_first(
    monkeypatch: pytest.MonkeyPatch, backend: ObjectBackend
) -> None:
    first, second = Store.create(URI, SPACE), Store.open(URI)
    first.apply(changes({1: "x > 1", 2: "x > 2", 3: "x > 3"}))
    second.snapshot()
    theirs = {2: "x > 20", 4: "x > 4"}
    run_before_put(monkeypatch, backend, lambda: first.apply(changes(theirs, removed=[3])))
    version = second.apply(changes({2: "x > 200", 5: "x > 5"}, removed=[4]))
    assert version.version == 3
    for store in (first, second, Store.open(URI)):
        assert match_values(store.snapshot(), 99) == [(0, 1), (0, 5)]


def test_a_writer_sees_the_changes_of_others_even_if_it_makes_no_version() -> None:
    first, second = Store.create(URI, SPACE), Store.open(URI)
    second.apply(changes({1: "x > 1"}))
    first.apply(changes({2: "x > 2"}))
    assert match_values(second.snapshot(), 9) == [(0, 1), (0, 2)]
    assert second.apply(changes({}, removed=[2])).version == 3
    assert match_values(first.snapshot(), 9) == [(0, 1)]


def test_writers_and_mergers_at_once_lose_nothing() -> None:
    Store.create(URI, SPACE).close()
    count, rounds = 4, 12

    def write(first: int) -> list[Manifest]:
        store, versions = Store.open(URI, merge_policy=TINY), []
        for i in range(rounds):
            versions.append(store.apply(changes({first + i: f"x > {i}"}, removed=[first + i - 3])))
            if first:
                store.merge()
        return versions

    with ThreadPoolExecutor(count) as pool:
        acknowledged = list(pool.map(write, range(0, 100 * count, 100)))
    numbers = [version.version for versions in acknowledged for version in versions]
    assert len(set(numbers)) == len(numbers)
    store = Store.open(URI)
    expected = [first + i for first in range(0, 100 * count, 100) for i in range(rounds)[-3:]]
    assert match_values(store.snapshot(), 99) == [(0, id_) for id_ in expected]
    commit_ids = [store.manifest(number).commit_id for number in store.versions]
    assert [store.manifest(n).previous_commit_id for n in store.versions] == ["", *commit_ids[:-1]]


def test_a_merge_keeps_what_other_writers_changed_or_merged(
    monkeypatch: pytest.MonkeyPatch, backend: ObjectBackend
) -> None:
    first = Store.create(URI, SPACE, merge_policy=TINY)
    second = Store.open(URI, merge_policy=TINY)
    for i in range(0, 16, 4):
        first.apply(changes({i + j: f"x > {i + j}" for j in range(4)}))

    def change_and_merge() -> None:
        first.apply(changes({2: "x > 200", 20: "x > 8"}, removed=[0]))
        while first.merge():
            pass

    run_before_put(monkeypatch, backend, change_and_merge)
    assert second.merge() is not None
    expected = [(0, i) for i in (1, *range(3, 16), 20)]
    assert match_values(Store.open(URI).snapshot(), 99) == expected


def test_a_label_is_given_once(monkeypatch: pytest.MonkeyPatch, backend: ObjectBackend) -> None:
    first, second = Store.create(URI, SPACE), Store.open(URI)
    staged = [store.stage(changes({1: "x > 1"})) for store in (first, second)]
    run_before_put(
        monkeypatch, backend, lambda: first.commit_staged([s for s in staged[:1] if s], label="a")
    )
    assert second.commit_staged([s for s in staged[1:] if s], label="a").version == 1
    assert first.versions == [0, 1]


def test_a_version_number_that_vacuum_freed_is_not_used_again(
    monkeypatch: pytest.MonkeyPatch, backend: ObjectBackend
) -> None:
    first, second = Store.create(URI, SPACE), Store.open(URI)

    def overtake() -> None:
        for i in range(3):
            first.apply(changes({i: f"x > {i}"}))
        first.vacuum(0, 3600)
        assert first.versions == [3]

    run_before_put(monkeypatch, backend, overtake)
    assert second.apply(changes({5: "x > 5"})).version == 4
    assert match_values(first.snapshot(), 99) == [(0, 0), (0, 1), (0, 2), (0, 5)]
    assert first.versions == [3, 4]


def test_a_version_that_was_overtaken_at_once_counts_as_made(
    backend: ObjectBackend,
) -> None:
    Store.create(URI, SPACE).close()
    first = read_manifest(backend, 0)
    second = replace(first, version=1, commit_id="a", previous_commit_id=first.commit_id)
    third = replace(first, version=2, commit_id="b", previous_commit_id="a")
    backend.put_if_absent(manifest_name(2), third.to_bytes())
    publish_manifest(backend, second)
    with pytest.raises(AlreadyExistsError):
        publish_manifest(backend, replace(second, commit_id="c"))
    assert read_manifest(backend, 1) == second


def test_a_repeated_request_is_recognized(
    monkeypatch: pytest.MonkeyPatch, backend: ObjectBackend
) -> None:
    """The first answer was lost, and the library sends the request again."""
    store = Store.create(URI, SPACE)
    put = ObjectBackend._put

    def put_twice(self: ObjectBackend, name: str, pieces: list[bytes], mode: str) -> None:
        put(self, name, pieces, mode)
        put(self, name, pieces, mode)

    monkeypatch.setattr(ObjectBackend, "_put", put_twice)
    assert store.apply(changes({1: "x > 1"})).version == 1
    assert store.versions == [0, 1]


def test_versions_are_not_made_through_an_object_store_of_pyarrow() -> None:
    class Remote:
        type_name = "s3"

    with pytest.raises(StoreError, match=r"pass the URI, such as s3://bucket/alerts"):
        ArrowBackend(Remote(), "bucket/alerts").put_if_absent("versions/0", b"")
