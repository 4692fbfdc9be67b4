"""Segments that share codebooks answer like others, and share only columns with similar ends."""

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
        shared = SharedCodebooks()
        SegmentIndex.build(regions.take(np.arange(0, len(regions), 2)), shared_codebooks=shared)
        return SegmentIndex.build(regions, shared_codebooks=shared)


@pytest.mark.parametrize("name", ["uniform-boxes-4", "alerts", "skewed", "classifieds"])
def test_segments_with_shared_codebooks_answer_like_scans(name: str) -> None:
    workload, shared = create_workload(name), SharedCodebooks()
    stored = [workload.generate_regions(start, start + 700) for start in (0, 700, 1400)]
    segments = [SegmentIndex.build(regions, shared_codebooks=shared) for regions in stored]
    for query in (workload.generate_regions(0, 300), workload.generate_regions(600, 900)):
        for regions, segment in zip(stored, segments, strict=True):
            assert set(segment.find_covering(query)) == set(
                BruteForceIndex(regions).find_covering(query)
            )


def test_a_query_is_encoded_once_for_all_segments() -> None:
    workload, shared = create_workload("uniform-boxes-4"), SharedCodebooks()
    first, second = (
        SegmentIndex.build(workload.generate_regions(start, start + 500), shared_codebooks=shared)
        for start in (0, 500)
    )
    assert first.data.columns is second.data.columns
    query = workload.generate_regions(1_000, 1_100)
    once = shared.encode(query, first.data.columns)
    assert shared.encode(query, second.data.columns) is once
    assert shared.encode(workload.generate_regions(1_000, 1_100), first.data.columns) is not once
    many = query.take(np.zeros(MAX_CACHED_REGIONS + 1, np.int64))
    assert shared.encode(many, first.data.columns) is not shared.encode(many, first.data.columns)


def test_segments_with_other_ends_or_many_more_regions_have_separate_columns() -> None:
    shared = SharedCodebooks()
    near_columns = SegmentIndex.build(_intervals(0, 100), shared_codebooks=shared).data.columns
    assert (
        SegmentIndex.build(_intervals(0.5, 700), shared_codebooks=shared).data.columns
        is near_columns
    )
    far_columns = SegmentIndex.build(_intervals(1_000, 700), shared_codebooks=shared).data.columns
    assert far_columns is not near_columns
    assert (
        SegmentIndex.build(_intervals(1_000, 6_000), shared_codebooks=shared).data.columns
        is not far_columns
    )


def test_attributes_of_different_types_do_not_share_columns() -> None:
    shared = SharedCodebooks()
    types = (pa.float64(), "x > 5.5"), (pa.string(), "x > '5'"), (pa.int32(), "x > 5")
    for type_, text in types:
        regions = parse(Space.from_types({"x": type_}), [text, "x IS NOT NULL"]).regions
        segment = SegmentIndex.build(regions, shared_codebooks=shared)
        assert set(segment.find_covering(regions)) == set(
            BruteForceIndex(regions).find_covering(regions)
        )


def _intervals(start: float, count: int) -> Regions:
    """Return intervals that start within 100 after a number."""
    texts = [f"x > {start + 100 * i / count}" for i in range(count)]
    return parse(Space.from_types({"x": pa.float64()}), texts).regions
