"""A segment is stored as numeric arrays and restored from them without loss."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from numpy.typing import NDArray

from covey.geometry import Regions
from covey.index import SegmentIndex
from covey.language import parse
from covey.space import Events, Space
from covey.testing.index_contract import IndexCase, index_cases
from tests.index.same import build_segment, check

STRANGE = Space.from_types(
    {
        "columns.0": pa.int64(),
        "rest.1.rows": pa.string(),
        "näme\U0001f600": pa.list_(pa.string()),
        "tree.0.children": pa.decimal128(38, 2),
        "v": pa.list_(pa.float32()),
    },
    vectors={"v": 2},
)
TEXTS = [
    "`columns.0` BETWEEN 1 AND 5 OR `columns.0` IS NULL",
    "`columns.0` IN (1, 5, 9, 12) AND `rest.1.rows` <> 'a'",
    "`rest.1.rows` > 'a\\0' AND `rest.1.rows` < 'é\U0001f600'",
    "`rest.1.rows` IN ('', 'b', '\\0', 'x\\0\\0')",
    "`tree.0.children` > 123456789012345678901234567890.25",
    "`tree.0.children` <= -99999999999999999999999999999999.99 OR `tree.0.children` IS NULL",
    "array_contains(`näme\U0001f600`, 'ß\\0') AND NOT array_contains(`näme\U0001f600`, '')",
    "vector_l2_distance(v, array(0f, 1f)) < 2f AND `columns.0` > 3",
]


def packed(segment: SegmentIndex) -> dict[str, NDArray[Any]]:
    """Return the arrays of a segment, which must be numeric."""
    arrays = segment.to_arrays()
    assert all(array.dtype.kind in "biuf" for array in arrays.values())
    return arrays


def check_back(segment: SegmentIndex, space: Space) -> SegmentIndex:
    """Return the segment restored from read-only arrays, after comparing the arrays of both."""
    frozen = {name: array.copy() for name, array in packed(segment).items()}
    for array in frozen.values():
        array.flags.writeable = False
    restored = SegmentIndex.from_arrays(space, frozen)
    back = packed(restored)
    assert back.keys() == frozen.keys()
    for name, array in back.items():
        assert array.dtype == frozen[name].dtype
        np.testing.assert_array_equal(array, frozen[name], name)
    return restored


@given(index_cases())
def test_a_segment_is_restored_from_its_arrays(case: IndexCase) -> None:
    check_back(
        build_segment(case.stored_regions, node=2, boundaries=2, mostly=0.9),
        case.stored_regions.space,
    )


def events() -> Events:
    texts = pa.array(["", "a", "a\0", "a\0b", "é", None], pa.string())
    tokens = pa.array([["ß\0"], ["ß\0", ""], ["ß"], [None], [], None], pa.list_(pa.string()))
    numbers = pa.array([None, *["123456789012345678901234567890.26"] * 5]).cast(
        pa.decimal128(38, 2)
    )
    table = {
        "columns.0": [1, 5, 9, 3, None, 4], "rest.1.rows": texts, "näme\U0001f600": tokens,
        "tree.0.children": numbers, "v": pa.array([[0, 1]] * 6, pa.list_(pa.float32())),
    }  # fmt: skip
    return Events.from_arrow(pa.table(table), STRANGE)


def test_names_and_texts_with_any_characters_are_restored() -> None:
    stored = parse(STRANGE, TEXTS).regions
    restored = check_back(SegmentIndex.build(stored), STRANGE)
    check(restored, stored, stored, events())
    assert len(restored.match(events())) > 5


@pytest.mark.parametrize("space", [STRANGE, Space.from_types({"x": pa.int64()})])
def test_an_empty_segment_is_restored(space: Space) -> None:
    restored = check_back(SegmentIndex.build(Regions(space, 0, {})), space)
    assert len(restored) == 0
    assert len(restored.reconstruct_regions(np.empty(0, np.int64))) == 0


def test_arrays_may_be_mapped_from_files(tmp_path: Path) -> None:
    stored = parse(STRANGE, TEXTS).regions
    for name, array in SegmentIndex.build(stored).to_arrays().items():
        np.save(tmp_path / f"{name}.npy", array)
    mapped = {path.stem: np.load(path, mmap_mode="r") for path in tmp_path.iterdir()}
    check(SegmentIndex.from_arrays(STRANGE, mapped), stored, stored, events())
