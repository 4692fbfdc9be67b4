"""Segments that share their columns answer as others do, and share only what suits them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from covey import Space, parse
from covey.geometry import Regions
from covey.index import Index, Scan, Segment
from covey.index.alike import KEPT, Alike
from covey.testing.contract import IndexContract
from covey.workload import by_name


class TestSegmentAlike(IndexContract):
    def build(self, regions: Regions) -> Index:
        alike = Alike()
        Segment.build(regions.take(np.arange(0, len(regions), 2)), alike=alike)
        return Segment.build(regions, alike=alike)


@pytest.mark.parametrize("name", ["uniform-boxes-4", "alerts", "skewed", "classifieds"])
def test_a_question_to_several_finds_what_scans_find(name: str) -> None:
    workload, alike = by_name(name), Alike()
    stored = [workload.regions(start, start + 700) for start in (0, 700, 1400)]
    segments = [Segment.build(regions, alike=alike) for regions in stored]
    for asked in (workload.regions(0, 300), workload.regions(600, 900)):
        for regions, segment in zip(stored, segments, strict=True):
            assert set(segment.covering(asked)) == set(Scan(regions).covering(asked))


def test_a_question_is_encoded_once() -> None:
    workload, alike = by_name("uniform-boxes-4"), Alike()
    first, second = (
        Segment.build(workload.regions(start, start + 500), alike=alike) for start in (0, 500)
    )
    assert first.parts.columns is second.parts.columns
    asked = workload.regions(1_000, 1_100)
    once = alike.asked(asked, first.parts.columns)
    assert alike.asked(asked, second.parts.columns) is once
    assert alike.asked(workload.regions(1_000, 1_100), first.parts.columns) is not once
    many = asked.take(np.zeros(KEPT + 1, np.int64))
    assert alike.asked(many, first.parts.columns) is not alike.asked(many, first.parts.columns)


def test_other_ends_or_many_more_regions_have_columns_of_their_own() -> None:
    alike = Alike()
    near = Segment.build(_intervals(0, 100), alike=alike).parts.columns
    assert Segment.build(_intervals(0.5, 700), alike=alike).parts.columns is near
    far = Segment.build(_intervals(1_000, 700), alike=alike).parts.columns
    assert far is not near
    assert Segment.build(_intervals(1_000, 6_000), alike=alike).parts.columns is not far


def test_another_type_of_the_same_name_is_another_column() -> None:
    alike = Alike()
    types = (pa.float64(), "x > 5.5"), (pa.string(), "x > '5'"), (pa.int32(), "x > 5")
    for type_, text in types:
        regions = parse(Space.of({"x": type_}), [text, "x IS NOT NULL"]).regions
        segment = Segment.build(regions, alike=alike)
        assert set(segment.covering(regions)) == set(Scan(regions).covering(regions))


def _intervals(start: float, count: int) -> Regions:
    """Intervals that start in the hundred after a number."""
    texts = [f"x > {start + 100 * i / count}" for i in range(count)]
    return parse(Space.of({"x": pa.float64()}), texts).regions
