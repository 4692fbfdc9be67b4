"""The cache: shared, verified, bounded, and careful with files in use."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pytest

from covey.errors import StoreError
from covey.store.storage.array_file import EncodedFile, encode_arrays
from covey.store.storage.cache import Cache


class Source:
    """A remote file that counts its downloads."""

    def __init__(self, number: int, size: int = 1000) -> None:
        self.packed: EncodedFile = encode_arrays({"x": np.full(size, number, np.uint8)}, {})
        self.downloads = 0

    def download(self, into: BinaryIO) -> None:
        self.downloads += 1
        into.writelines(self.packed.pieces)


def names(cache: Cache) -> set[str]:
    return {path.name for path in cache.folder.iterdir() if path.is_file()}


def test_a_file_is_downloaded_once(tmp_path: Path) -> None:
    cache, source = Cache(tmp_path / "cache"), Source(7)
    for _ in range(3):
        found = cache.open(source.packed.sha256, source.download)
        assert found.arrays["x"].tolist() == [7] * 1000
    assert source.downloads == 1
    assert names(cache) == {source.packed.sha256}


def test_threads_that_open_one_file_download_it_once(tmp_path: Path) -> None:
    cache, source = Cache(tmp_path), Source(7, 1 << 20)
    threads = [
        threading.Thread(target=cache.open, args=(source.packed.sha256, source.download))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert source.downloads == 1


def test_an_added_file_is_not_downloaded(tmp_path: Path) -> None:
    cache, source = Cache(tmp_path), Source(7)
    cache.put(source.packed)
    cache.open(source.packed.sha256, source.download)
    assert source.downloads == 0


def test_a_damaged_cached_file_is_downloaded_again(tmp_path: Path) -> None:
    cache, source = Cache(tmp_path), Source(7)
    cache.put(source.packed)
    with (tmp_path / source.packed.sha256).open("r+b") as file:
        file.seek(900)
        file.write(b"x")
    found = cache.open(source.packed.sha256, source.download)
    assert found.arrays["x"].tolist() == [7] * 1000
    assert source.downloads == 1


def test_a_damaged_download_raises_an_error_and_is_not_cached(tmp_path: Path) -> None:
    cache, source, other = Cache(tmp_path), Source(7), Source(8)
    with pytest.raises(StoreError, match="is damaged"):
        cache.open(source.packed.sha256, other.download)
    assert names(cache) == set()


def test_the_least_recently_used_file_is_evicted_first(tmp_path: Path) -> None:
    cache, sources = Cache(tmp_path), [Source(number) for number in range(4)]
    for age, source in enumerate(sources):
        cache.put(source.packed)
        os.utime(tmp_path / source.packed.sha256, (1000 + age, 1000 + age))
    cache.open(sources[0].packed.sha256, sources[0].download)
    gc.collect()
    cache.max_bytes = 2 * sources[0].packed.size_bytes
    cache.evict()
    assert names(cache) == {sources[0].packed.sha256, sources[3].packed.sha256}


def test_a_mapped_file_is_not_deleted(tmp_path: Path) -> None:
    cache, sources = Cache(tmp_path, max_bytes=0), [Source(1), Source(2)]
    first = cache.open(sources[0].packed.sha256, sources[0].download)
    cache.open(sources[1].packed.sha256, sources[1].download)
    gc.collect()
    cache.evict()
    assert names(cache) == {sources[0].packed.sha256}
    array = first.arrays["x"]
    del first
    cache.evict()
    assert names(cache) == {sources[0].packed.sha256}
    del array
    cache.evict()
    assert names(cache) == set()


HOLDING = """
import sys
from covey.store.storage.cache import Cache
found = Cache(sys.argv[1]).open(sys.argv[2], lambda into: None)
print("open", flush=True)
sys.stdin.read()
"""


def test_a_file_mapped_by_another_process_is_not_deleted(tmp_path: Path) -> None:
    cache, source = Cache(tmp_path), Source(1)
    cache.put(source.packed)
    command = [sys.executable, "-c", HOLDING, str(tmp_path), source.packed.sha256]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"open\n"
        cache.max_bytes = 0
        cache.evict()
        assert names(cache) == {source.packed.sha256}
    cache.evict()
    assert names(cache) == set()


def test_files_of_a_killed_download_are_deleted_after_a_day(tmp_path: Path) -> None:
    cache = Cache(tmp_path, max_bytes=0)
    old, new = cache.partial_path("a"), cache.partial_path("a")
    for path in (old, new):
        path.write_bytes(b"x")
    os.utime(old, (1000, 1000))
    cache.evict()
    assert not old.exists()
    assert new.exists()


def test_the_default_folder_is_the_cache_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert Cache().folder == Path("/somewhere/covey")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert Cache().folder == Path.home() / ".cache" / "covey"


def test_a_folder_that_cannot_be_made_is_explained(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StoreError, match="set XDG_CACHE_HOME to a writable folder"):
        Cache(tmp_path / "file" / "cache").partial_path("x")
