"""Tombstones are a set of rows of any size."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey.errors import StoreError
from covey.store.segments.tombstones import Tombstones, encode_tombstones, read_tombstones
from covey.store.storage.array_file import EncodedFile, MappedArrays, encode_arrays, open_array_file

ROWS = st.sets(st.integers(0, 40)).map(sorted)


def make_tombstones(*batches: list[int]) -> Tombstones:
    found = Tombstones.empty(41)
    for rows in batches:
        found = found.with_rows(np.array(rows, np.int64))
    return found


@given(ROWS, ROWS)
def test_tombstones_behave_as_a_set(first: list[int], second: list[int]) -> None:
    both = make_tombstones(first, second)
    dead = set(first) | set(second)
    assert both.dead_count == len(dead)
    assert both.is_dead(np.arange(41)).tolist() == [row in dead for row in range(41)]
    assert both.live_rows.tolist() == [row for row in range(41) if row not in dead]
    assert both.rows_since(make_tombstones(first)).tolist() == sorted(dead - set(first))


def test_adding_rows_does_not_change_the_original() -> None:
    before = make_tombstones([3])
    before.with_rows(np.array([4]))
    assert before.live_rows.tolist() == [row for row in range(41) if row != 3]


def write_and_open(packed: EncodedFile | None, folder: Path) -> MappedArrays:
    assert packed is not None
    (folder / "file").write_bytes(b"".join(packed.pieces))
    return open_array_file(folder / "file", packed.sha256)


def test_tombstones_of_all_segments_are_restored_from_one_file(tmp_path: Path) -> None:
    given_ = {"a": make_tombstones([1, 40]), "b": make_tombstones(), "c": make_tombstones([0])}
    file = write_and_open(encode_tombstones(given_), tmp_path)
    for name, expected in given_.items():
        assert read_tombstones(file, name, 41).live_rows.tolist() == expected.live_rows.tolist()


def test_no_tombstones_make_no_file() -> None:
    assert encode_tombstones({"a": make_tombstones()}) is None


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="contains None, not tombstones"):
        read_tombstones(write_and_open(encode_arrays({}, {}), tmp_path), "a", 3)
    with pytest.raises(StoreError, match="do not fit segment a"):
        read_tombstones(
            write_and_open(encode_tombstones({"a": make_tombstones([1])}), tmp_path), "a", 3
        )
