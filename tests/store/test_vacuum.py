"""Vacuum: what is deleted, and what leases, retention and merges keep."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from pyarrow import fs

from covey.errors import InvalidArgumentError, StoreError
from covey.store import Changes, Manifest, Store
from covey.store.manifest import vacuum
from covey.store.manifest.manifest import manifest_name, read_manifest
from covey.store.storage.backend import StorageBackend, partial_name
from tests.store.simple import SPACE, TINY, changes, match_values

HOUR = 3600


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Return a store with the versions 0 to 8."""
    store = Store.create(tmp_path / "store", SPACE, merge_policy=TINY)
    for i in range(8):
        store.apply(changes({i: f"x > {i}", 99: f"x = {i}"}))
    return store


def set_age(path: Path, seconds: float) -> None:
    os.utime(path, (time.time() - seconds,) * 2)


def version_path(store: Store, number: int) -> Path:
    path = store._backend.local_path(manifest_name(number))
    assert path is not None
    return path


def test_the_newest_version_is_always_kept(store: Store) -> None:
    expected = match_values(store.snapshot(), 3, 9)
    for path in Path(store._backend.location).rglob("*"):
        set_age(path, 10 * HOUR)
    removed = store.vacuum(retain_seconds=0, grace_seconds=0)
    assert store.versions == [8]
    assert removed.versions == 8
    assert removed.size_bytes > 0
    again = Store.open(store._backend.location).snapshot()
    assert match_values(again, 3, 9) == expected
    files = {path.name for path in (Path(store._backend.location) / "files").iterdir()}
    assert files == again.manifest.files


def test_retention_counts_from_when_a_version_was_replaced(store: Store) -> None:
    for number in range(6):
        set_age(version_path(store, number), 2 * HOUR)
    store.vacuum(retain_seconds=HOUR)
    assert store.versions == [5, 6, 7, 8]  # 5 is old, but 6 replaced it only just now


def test_a_lease_keeps_a_version_and_its_files(store: Store) -> None:
    expected = match_values(store.snapshot(3), 3, 9)
    lease = store.lease(3, seconds=HOUR)
    store.vacuum(retain_seconds=0, grace_seconds=0)
    assert store.versions == [3, 8]
    assert match_values(Store.open(store._backend.location).snapshot(3), 3, 9) == expected
    lease.release()
    store.vacuum(retain_seconds=0, grace_seconds=0)
    assert store.versions == [8]


def test_versions_to_keep_are_kept_with_their_files(store: Store) -> None:
    expected = [match_values(store.snapshot(number), 3, 9) for number in (2, 5)]
    store.vacuum(retain_seconds=0, grace_seconds=0, keep_versions=[5, 2, 77])
    assert store.versions == [2, 5, 8]
    again = Store.open(store._backend.location)
    assert [match_values(again.snapshot(number), 3, 9) for number in (2, 5)] == expected
    store.vacuum(retain_seconds=0, grace_seconds=0, keep_versions=iter([5]))
    assert store.versions == [5, 8]


def test_a_lease_ends_with_its_time_or_its_block(store: Store) -> None:
    store.lease(2, seconds=0.001)
    with store.lease(4, seconds=HOUR) as lease:
        time.sleep(0.01)
        store.vacuum(retain_seconds=0)
        assert store.versions == [4, 8]
        assert lease.version == 4
    store.vacuum(retain_seconds=0)
    assert store.versions == [8]
    assert not list((Path(store._backend.location) / "leases").iterdir())


def test_a_lease_can_be_renewed(store: Store) -> None:
    lease = store.lease(4, seconds=0.05)
    lease.renew(seconds=HOUR)
    time.sleep(0.06)
    store.vacuum(retain_seconds=0)
    assert store.versions == [4, 8]
    lease.release()
    lease.release()
    store.vacuum(retain_seconds=0)
    assert store.versions == [8]


def test_a_lease_of_a_missing_version_is_refused(store: Store) -> None:
    with pytest.raises(StoreError, match="there is no version 77"):
        store.lease(77, seconds=HOUR)
    assert not list((Path(store._backend.location) / "leases").iterdir())
    with pytest.raises(
        InvalidArgumentError, match=r"the seconds of a lease must be more than 0 .* got 0"
    ):
        store.lease(1, seconds=0)


def test_unreferenced_files_are_kept_for_the_grace_period(store: Store) -> None:
    place = Path(store._backend.location)
    leftovers = [
        place / "files" / ("0" * 64),
        place / partial_name("files/x"),
        place / partial_name(manifest_name(9)),
        place / partial_name("leases/x"),
    ]
    (place / "leases").mkdir(exist_ok=True)
    for path in leftovers:
        path.write_bytes(b"x")
    store.vacuum(retain_seconds=HOUR)
    assert all(path.exists() for path in leftovers)
    for path in leftovers:
        set_age(path, 2 * HOUR)
    store.vacuum(retain_seconds=HOUR)
    assert not any(path.exists() for path in leftovers)


def test_inputs_of_a_running_merge_are_kept(store: Store) -> None:
    merge = store._writer.claim_merge()
    assert merge is not None
    store.apply(Changes.remove(list(range(100))))
    for path in (Path(store._backend.location) / "files").iterdir():
        set_age(path, 2 * HOUR)
    store.vacuum(retain_seconds=0)
    assert all(store._writer.content_store.local_path(file).exists() for file in merge.files)
    store._writer.release_merge(merge)
    store.vacuum(retain_seconds=0)
    assert not any(store._writer.content_store.local_path(file).exists() for file in merge.files)


def test_nothing_is_deleted_if_a_manifest_cannot_be_read(store: Store) -> None:
    place = Path(store._backend.location)
    path = version_path(store, 7)
    path.write_bytes(path.read_bytes()[:-10])
    set_age(version_path(store, 3), 2 * HOUR)
    before = set(place.rglob("*"))
    with pytest.raises(StoreError, match=r"version 7 .* cannot be read"):
        store.vacuum(retain_seconds=HOUR)
    assert set(place.rglob("*")) == before


def test_a_manifest_is_read_once_for_several_vacuums(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stream keeps thousands of versions, and runs vacuum every minute."""
    read: list[int] = []

    def counted(directory: StorageBackend, number: int) -> Manifest:
        read.append(number)
        return read_manifest(directory, number)

    monkeypatch.setattr(vacuum, "read_manifest", counted)
    store.vacuum(HOUR)
    assert read == list(range(9))
    store.apply(changes({7: "x > 70"}))
    store.vacuum(HOUR)
    assert read == list(range(10))
    store.vacuum(0, 0)
    assert store.versions == [9]
    assert (0, 7) in match_values(store.snapshot(), 71)


def test_vacuum_works_on_other_file_systems() -> None:
    store = Store.create("place", SPACE, filesystem=fs._MockFileSystem(), merge_policy=TINY)
    for i in range(8):
        store.apply(changes({i: f"x > {i}", 99: f"x = {i}"}))
    lease = store.lease(2, HOUR)
    time.sleep(0.01)
    store.vacuum(retain_seconds=0, grace_seconds=0)
    assert store.versions == [2, 8]
    lease.release()
    store.vacuum(retain_seconds=0, grace_seconds=0)
    assert store.versions == [8]
    with pytest.raises(InvalidArgumentError, match="grace_seconds must be at least 0, got -1"):
        store.vacuum(retain_seconds=-1)
