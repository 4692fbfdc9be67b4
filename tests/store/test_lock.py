"""Locks and leases of writers, and file systems that refuse to rename or lock files."""

from __future__ import annotations

import errno
import fcntl
import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pyarrow import fs

from covey.errors import StoreError
from covey.store import Store
from covey.store.storage import local, lock
from covey.store.storage.location import open_storage
from covey.store.storage.lock import WriterLease, WriterLock
from tests.store.simple import SPACE, TINY, changes, match_values


@pytest.fixture
def mounted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a folder that refuses what a mounted object store refuses, for example `/Volumes`."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.ENOTSUP, "Operation not supported")

    opened = Path.open

    def open_file(self: Path, mode: str = "r", *args: Any, **options: Any) -> Any:
        if "a" in mode or "+" in mode:
            refuse()
        return opened(self, mode, *args, **options)

    with monkeypatch.context() as patched:
        patched.setattr(local, "_PLAIN_DEVICES", {})
        for module, name in (
            (os, "link"), (os, "rename"), (os, "replace"), (os, "fsync"), (fcntl, "flock"),
        ):  # fmt: skip
            patched.setattr(module, name, refuse)
        patched.setattr(Path, "open", open_file)
        patched.setattr(lock, "_SETTLING_S", 0.01)
        yield tmp_path / "volume"


def test_a_store_in_a_mounted_object_store_is_changed_merged_and_vacuumed(mounted: Path) -> None:
    with Store.create(mounted, SPACE, merge_policy=TINY) as store:
        for i in range(12):
            store.apply(changes({i: f"x > {i}"}, removed=[i - 4]))
        while store.merge():
            pass
        expected = [(0, i) for i in range(8, 12)]
        assert match_values(store.snapshot(), 99) == expected
        store.vacuum(0, 0)
        assert len(store.versions) == 1
    assert match_values(Store.open(mounted).snapshot(), 99) == expected
    assert not [path for path in mounted.parent.rglob("*") if "probe" in path.name]


def test_a_second_writer_of_a_mounted_object_store_is_refused(mounted: Path) -> None:
    with Store.create(mounted, SPACE) as store:
        store.apply(changes({1: "x > 1"}))
        second = Store.open(mounted)
        with pytest.raises(StoreError, match=f"another writer has .* open .process {os.getpid()}"):
            second.apply(changes({2: "x > 2"}))
    assert second.apply(changes({2: "x > 2"})).version == 2


def test_a_file_system_without_conditional_writes_has_one_writer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lock, "_SETTLING_S", 0.01)
    memory = fs._MockFileSystem()
    first = Store.create("place", SPACE, filesystem=memory)
    second = Store.open("place", filesystem=memory)
    first.apply(changes({1: "x > 1"}))
    with pytest.raises(StoreError, match=r"if it was killed, wait [56]\d seconds"):
        second.apply(changes({2: "x > 2"}))
    first.close()
    assert second.apply(changes({2: "x > 2"})).version == 2
    with pytest.raises(StoreError, match="another writer has"):
        first.merge()


def test_a_lease_ends_and_its_owner_notices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "_SETTLING_S", 0.01)
    backend = open_storage("place", fs._MockFileSystem())
    now_s = time.time()
    monkeypatch.setattr(time, "time", lambda: now_s)
    first = WriterLease(backend)
    now_s += 29
    first.confirm()
    now_s += 30
    first.confirm()  # it has 1 s left, and is renewed
    now_s += 59
    with pytest.raises(StoreError, match="another writer has"):
        WriterLease(backend)
    now_s += 2
    second = WriterLease(backend)
    with pytest.raises(StoreError, match="another writer has"):
        first.confirm()
    first.release()
    second.confirm()
    second.release()
    WriterLease(backend)


def test_of_two_leases_that_are_taken_at_once_one_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = open_storage("place", fs._MockFileSystem())
    taken: list[WriterLease] = []

    def take_another(_: float) -> None:
        monkeypatch.setattr(time, "sleep", lambda _: None)
        backend.delete("writer.lease")  # as if neither had seen the file of the other
        taken.append(WriterLease(backend))

    monkeypatch.setattr(time, "sleep", take_another)
    with pytest.raises(StoreError, match="at the same moment"):
        WriterLease(backend)
    taken[0].confirm()


def test_a_lock_that_cannot_be_taken_is_not_that_of_another_writer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(StoreError, match=r"cannot be locked \(No locks available\)") as caught:
        WriterLock(tmp_path / "writer.lock")
    assert "another writer" not in str(caught.value)


def test_a_writer_can_wait_for_the_lock_of_another(tmp_path: Path) -> None:
    first = Store.create(tmp_path / "store", SPACE)
    first.lock()
    second = Store.open(tmp_path / "store")
    with pytest.raises(StoreError, match="another writer has"):
        second.lock(0.2)
    threading.Timer(0.3, first.close).start()
    second.lock(30)
    assert second.apply(changes({1: "x > 1"})).version == 1


def test_a_second_attempt_waits_and_returns_the_version_of_the_first(tmp_path: Path) -> None:
    first = Store.create(tmp_path / "store", SPACE)
    first.lock()
    staged = first.stage(changes({1: "x > 1"}))
    assert staged is not None

    def attempt() -> int:
        with Store.open(tmp_path / "store") as store:
            store.lock(30)
            return store.commit_staged([staged], label="a").version

    with ThreadPoolExecutor(1) as pool:
        second = pool.submit(attempt)
        time.sleep(0.3)
        assert first.commit_staged([staged], label="a").version == 1
        first.close()
        assert second.result(30) == 1
    assert first.versions == [0, 1]
