"""The segment passes the contract."""

from __future__ import annotations

import pytest

from covey.geometry import Regions
from covey.index import Index, Scan, Segment
from covey.space import Events
from covey.testing.contract import IndexContract
from covey.workload import by_name


class TestSegment(IndexContract):
    def build(self, regions: Regions) -> Index:
        return Segment.build(regions)


class TestSegmentTakenApart(IndexContract):
    def build(self, regions: Regions) -> Index:
        segment = Segment.build(regions)
        arrays = {name: array.copy() for name, array in segment.arrays().items()}
        for array in arrays.values():
            array.flags.writeable = False
        return Segment.from_arrays(regions.space, arrays)


@pytest.mark.parametrize("name", ["uniform-boxes-4", "alerts", "skewed", "classifieds", "watches"])
def test_it_finds_what_a_scan_finds(name: str) -> None:
    workload = by_name(name)
    regions = workload.regions(0, 6_000)
    events = Events.from_arrow(workload.events(0, 60), workload.space)
    found, expected = Segment.build(regions).matching(events), Scan(regions).matching(events)
    assert set(found) == set(expected)


def test_many_events_are_answered_in_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    workload = by_name("uniform-boxes-4")
    events = Events.from_arrow(workload.events(0, 700), workload.space)
    index = Segment.build(workload.regions(0, 3_000))
    whole = index.matching(events)
    monkeypatch.setattr("covey.index.segment._AT_ONCE", 64)
    assert list(index.matching(events)) == list(whole)
