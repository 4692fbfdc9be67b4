"""The contract of storage backends, checked on local and remote file systems."""

from __future__ import annotations

import io
import os
import time
from pathlib import Path
from typing import Any

import pytest
from obstore.store import MemoryStore
from pyarrow import fs

from covey.errors import InvalidArgumentError, StoreError
from covey.store.storage import local
from covey.store.storage.arrow_fs import ArrowBackend
from covey.store.storage.backend import StorageBackend
from covey.store.storage.local import LocalBackend
from covey.store.storage.location import open_storage
from covey.store.storage.object_store import ObjectBackend


class MovesOntoNothing:
    """A file system that refuses to move a file onto another, as HDFS does."""

    def __init__(self) -> None:
        self._memory = fs._MockFileSystem()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._memory, name)

    def move(self, source: str, target: str) -> None:
        if self._memory.get_file_info(target).is_file:
            raise OSError(f"{target} exists")
        self._memory.move(source, target)


@pytest.fixture(params=["local", "subtree", "in memory", "object store", "like HDFS"])
def directory(request: pytest.FixtureRequest, tmp_path: Path) -> StorageBackend:
    if request.param == "object store":
        return ObjectBackend(MemoryStore(), "memory:")
    if request.param == "like HDFS":
        return ArrowBackend(MovesOntoNothing(), "place")
    if request.param == "in memory":
        return open_storage("place", fs._MockFileSystem())
    if request.param == "subtree":
        return open_storage("place", fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem()))
    return open_storage(tmp_path / "place")


def test_a_file_that_was_put_can_be_read_and_listed(directory: StorageBackend) -> None:
    directory.put({"a/x": [b"12", memoryview(b"3")], "b/y": []})
    assert directory.read("a/x") == b"123"
    assert directory.read("b/y") == b""
    assert [file.name for file in directory.list("a")] == ["x"]


def test_a_file_can_be_put_twice(directory: StorageBackend) -> None:
    directory.put({"a/x": [b"123"]})
    directory.put({"a/x": [b"123"]})
    assert directory.read("a/x") == b"123"


def test_a_file_is_replaced(directory: StorageBackend) -> None:
    for content in (b"first", b"then", b"later"):
        directory.replace("a/x", content)
        assert directory.read("a/x") == content
    assert [file.name for file in directory.list("a")] == ["x"]


def test_a_published_file_is_never_replaced(directory: StorageBackend) -> None:
    directory.put_if_absent("a/1", b"first")
    with pytest.raises(StoreError, match="exists already"):
        directory.put_if_absent("a/1", b"second")
    assert directory.read("a/1") == b"first"
    assert [file.name for file in directory.list("a")] == ["1"]


def test_a_local_file_is_adopted(directory: StorageBackend, tmp_path: Path) -> None:
    directory.put({"a/other": [b""]})
    (tmp_path / "made").write_bytes(b"123")
    directory.put_local_file(tmp_path / "made", "a/x")
    assert directory.read("a/x") == b"123"
    assert (tmp_path / "made").exists() == (directory.local_path("a/x") is None)


def test_a_download_has_the_content_of_the_file(directory: StorageBackend) -> None:
    directory.put({"a/x": [b"123"]})
    into = io.BytesIO()
    directory.download("a/x", into)
    assert into.getvalue() == b"123"


def test_missing_files_are_reported(directory: StorageBackend) -> None:
    assert directory.list("a") == []
    directory.delete("a/x")
    with pytest.raises(FileNotFoundError):
        directory.read("a/x")
    with pytest.raises(FileNotFoundError):
        directory.download("a/x", io.BytesIO())


def test_a_listing_has_sizes_and_times(directory: StorageBackend) -> None:
    directory.put({"a/x": [b"123"]})
    (file,) = directory.list("a")
    assert file.size_bytes == 3
    assert abs(file.modified_at_s - time.time()) < 3600


def test_a_deleted_file_is_not_listed(directory: StorageBackend) -> None:
    directory.put({"a/x": [b"123"]})
    directory.delete("a/x")
    assert directory.list("a") == []


def test_local_files_have_a_local_path(tmp_path: Path) -> None:
    below = fs.SubTreeFileSystem(str(tmp_path / "below"), fs.LocalFileSystem())
    assert open_storage(tmp_path).local_path("a/x") == tmp_path / "a" / "x"
    assert open_storage("s", below).local_path("a/x") == tmp_path / "below" / "s" / "a" / "x"
    assert open_storage(f"file://{tmp_path}").local_path("x") == tmp_path / "x"
    assert open_storage("s", fs._MockFileSystem()).local_path("a/x") is None


@pytest.mark.parametrize("place", ["", "nosuch://x/y"])
def test_an_invalid_location_is_refused(place: str) -> None:
    with pytest.raises(InvalidArgumentError, match=r"the location of a store|cannot be opened"):
        open_storage(place)


def test_a_failed_write_leaves_no_file(tmp_path: Path) -> None:
    def pieces() -> object:
        yield b"12"
        raise OSError("no space left")

    with pytest.raises(OSError, match="no space left"):
        LocalBackend(tmp_path).put({"a/x": pieces()})  # type: ignore[dict-item]
    assert LocalBackend(tmp_path).list("a") == []


def test_files_are_synced_to_disk_before_they_become_visible(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    sync, replace, link = os.fsync, os.replace, os.link

    def fsync(descriptor: int) -> None:
        calls.append("sync " + Path(f"/proc/self/fd/{descriptor}").resolve().name.split(".")[0])
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(
        os, "replace", lambda a, b: (calls.append(f"show {Path(b).name}"), replace(a, b))
    )
    monkeypatch.setattr(os, "link", lambda a, b: (calls.append(f"show {Path(b).name}"), link(a, b)))
    (tmp_path / "a").mkdir()
    LocalBackend(tmp_path).put({"a/x": [b"1"], "a/y": [b"2"]})
    LocalBackend(tmp_path).put_if_absent("a/z", b"3")
    assert calls == [
        "sync x", "show x", "sync y", "show y", "sync a", "sync z", "show z", "sync a",
    ]  # fmt: skip


def test_without_hard_links_nothing_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def link(old: object, new: object) -> None:
        raise OSError(local._NO_LINK_ERRNOS[0], "not permitted")

    monkeypatch.setattr(os, "link", link)
    LocalBackend(tmp_path).put_if_absent("a/z", b"1")
    with pytest.raises(StoreError, match="exists already"):
        LocalBackend(tmp_path).put_if_absent("a/z", b"2")
    assert LocalBackend(tmp_path).read("a/z") == b"1"
    assert [file.name for file in LocalBackend(tmp_path).list("a")] == ["z"]


def test_a_move_onto_a_file_succeeds_only_for_equal_content() -> None:
    memory = fs._MockFileSystem()
    directory = ArrowBackend(_Unmoving(memory), "place")
    memory.create_dir("place/a", recursive=True)
    with memory.open_output_stream("place/a/x") as stream:
        stream.write(b"123")
    directory.put({"a/x": [b"123"]})
    with pytest.raises(OSError, match="exists"):
        directory.put({"a/x": [b"1234"]})
    with pytest.raises(StoreError, match="exists already"):
        directory.put_if_absent("a/x", b"123")
    assert [file.name for file in directory.list("a")] == ["x"]


class _Unmoving:
    """A file system that moves no file onto another, as HDFS does not."""

    def __init__(self, below: fs.FileSystem) -> None:
        self._below = below

    def __getattr__(self, name: str) -> object:
        return getattr(self._below, name)

    def move(self, old: str, new: str) -> None:
        raise OSError("exists")
