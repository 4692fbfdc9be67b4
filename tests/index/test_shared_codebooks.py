"""Segments that share their columns answer as others do, and share only what suits them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from covey import Space, parse
from covey.geometry import Regions
from covey.index import BruteForceIndex, Index, SegmentIndex
from covey.index.segment.build.shared_codebooks import MAX_CACHED_REGIONS, SharedCodebooks
from covey.testing.index_contract import IndexContract
from covey.workload import create_workload


class TestSegmentAlike(IndexContract):
    def build(self, regions: Regions) -> Index:
        alike = SharedCodebooks()
        SegmentIndex.build(regions.take(np.arange(0, len(regions), 2)), shared_codebooks=alike)
        return SegmentIndex.build(regions, shared_codebooks=alike)


@pytest.mark.parametrize("name", ["uniform-boxes-4", "alerts", "skewed", "classifieds"])
def test_a_question_to_several_finds_what_scans_find(name: str) -> None:
    workload, alike = create_workload(name), SharedCodebooks()
    stored = [workload.generate_regions(start, start + 700) for start in (0, 700, 1400)]
    segments = [SegmentIndex.build(regions, shared_codebooks=alike) for regions in stored]
    for asked in (workload.generate_regions(0, 300), workload.generate_regions(600, 900)):
        for regions, segment in zip(stored, segments, strict=True):
            assert set(segment.find_covering(asked)) == set(
                BruteForceIndex(regions).find_covering(asked)
            )


def test_a_question_is_encoded_once() -> None:
    workload, alike = create_workload("uniform-boxes-4"), SharedCodebooks()
    first, second = (
        SegmentIndex.build(workload.generate_regions(start, start + 500), shared_codebooks=alike)
        for start in (0, 500)
    )
    assert first.data.columns is second.data.columns
    asked = workload.generate_regions(1_000, 1_100)
    once = alike.encode(asked, first.data.columns)
    assert alike.encode(asked, second.data.columns) is once
    assert alike.encode(workload.generate_regions(1_000, 1_100), first.data.columns) is not once
    many = asked.take(np.zeros(MAX_CACHED_REGIONS + 1, np.int64))
    assert alike.encode(many, first.data.columns) is not alike.encode(many, first.data.columns)


def test_other_ends_or_many_more_regions_have_columns_of_their_own() -> None:
    alike = SharedCodebooks()
    near = SegmentIndex.build(_intervals(0, 100), shared_codebooks=alike).data.columns
    assert SegmentIndex.build(_intervals(0.5, 700), shared_codebooks=alike).data.columns is near
    far = SegmentIndex.build(_intervals(1_000, 700), shared_codebooks=alike).data.columns
    assert far is not near
    assert (
        SegmentIndex.build(_intervals(1_000, 6_000), shared_codebooks=alike).data.columns is not far
    )


def test_another_type_of_the_same_name_is_another_column() -> None:
    alike = SharedCodebooks()
    types = (pa.float64(), "x > 5.5"), (pa.string(), "x > '5'"), (pa.int32(), "x > 5")
    for type_, text in types:
        regions = parse(Space.from_types({"x": type_}), [text, "x IS NOT NULL"]).regions
        segment = SegmentIndex.build(regions, shared_codebooks=alike)
        assert set(segment.find_covering(regions)) == set(
            BruteForceIndex(regions).find_covering(regions)
        )


def _intervals(start: float, count: int) -> Regions:
    """Intervals that start in the hundred after a number."""
    texts = [f"x > {start + 100 * i / count}" for i in range(count)]
    return parse(Space.from_types({"x": pa.float64()}), texts).regions
