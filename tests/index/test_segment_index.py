"""`SegmentIndex` passes the index contract, also after it was restored from arrays."""

from __future__ import annotations

import pytest

from covey.geometry import Regions
from covey.index import BruteForceIndex, Index, SegmentIndex
from covey.space import Events
from covey.testing.index_contract import IndexContract
from covey.workload import create_workload


class TestSegmentIndex(IndexContract):
    def build(self, regions: Regions) -> Index:
        return SegmentIndex.build(regions)


class TestSegmentTakenApart(IndexContract):
    def build(self, regions: Regions) -> Index:
        segment = SegmentIndex.build(regions)
        arrays = {name: array.copy() for name, array in segment.to_arrays().items()}
        for array in arrays.values():
            array.flags.writeable = False
        return SegmentIndex.from_arrays(regions.space, arrays)


@pytest.mark.parametrize("name", ["uniform-boxes-4", "alerts", "skewed", "classifieds", "watches"])
def test_matches_on_every_workload_equal_those_of_a_scan(name: str) -> None:
    workload = create_workload(name)
    regions = workload.generate_regions(0, 6_000)
    events = Events.from_arrow(workload.generate_events(0, 60), workload.space)
    found, expected = (
        SegmentIndex.build(regions).match(events),
        BruteForceIndex(regions).match(events),
    )
    assert set(found) == set(expected)


def test_many_events_are_answered_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    workload = create_workload("uniform-boxes-4")
    events = Events.from_arrow(workload.generate_events(0, 700), workload.space)
    index = SegmentIndex.build(workload.generate_regions(0, 3_000))
    whole = index.match(events)
    monkeypatch.setattr("covey.index.segment.index._EVENTS_PER_BATCH", 64)
    assert list(index.match(events)) == list(whole)
