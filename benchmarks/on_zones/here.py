"""Zones in this process, as a worker of Spark has them: a segment of each, asked with events."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from covey.geometry import Regions
from covey.index import SegmentIndex
from covey.space import Events
from covey.workload import Workload
from covey.zones import EVERYWHERE, ZoneMap, ZoneSample, build_zone_tree

__all__ = ["Spread", "batched", "cut", "events_of", "matches", "timed"]

Rows = NDArray[np.int64]
_AT_ONCE = 1 << 15  # events, as a worker takes them
_REPEATS = 9


def cut(load: Workload, count: int, zones: int, sampled: int) -> ZoneMap:
    """Zones from a sample of the first events and of all subscriptions."""
    regions = load.generate_regions(0, min(count, sampled))
    sample = ZoneSample.from_events(events_of(load, 0, sampled), regions, represented_count=count)
    tree = build_zone_tree(sample, zones)
    return ZoneMap.build(
        tree, sample.measure_loads(tree)[0], requested_zones=zones, regions=regions
    )


def events_of(load: Workload, start: int, stop: int) -> Events:
    """Events of a workload as columns."""
    return Events.from_arrow(pa.Table.from_batches([load.generate_events(start, stop)]), load.space)


@dataclass(frozen=True, slots=True)
class Spread:
    """Regions by zone: rows of `regions`, those of `EVERYWHERE` with each."""

    regions: Regions
    rows: dict[int, Rows]

    @classmethod
    def of(cls, regions: Regions, zoning: ZoneMap) -> Spread:
        """Each region is a subscription."""
        count = len(regions)
        some = zoning.iterate_members(regions, np.arange(count), count)
        return cls(regions, {one.zone: one.rows for one in some})

    @property
    def stored(self) -> int:
        """How many there are in all."""
        return sum(map(len, self.rows.values()))

    def segments(self, zones: int) -> Iterator[tuple[int, list[SegmentIndex]]]:
        """The indexes of a zone: its own, and the one that is everywhere if there is one."""
        everywhere = self._built(EVERYWHERE)
        for zone in range(zones):
            yield zone, [*self._built(zone), *everywhere]

    def _built(self, zone: int) -> list[SegmentIndex]:
        rows = self.rows.get(zone)
        return [] if rows is None else [SegmentIndex.build(self.regions.take(rows))]


def batched(events: Events) -> list[Events]:
    """Events as a worker takes them."""
    return [
        events.take(np.arange(start, min(start + _AT_ONCE, len(events))))
        for start in range(0, len(events), _AT_ONCE)
    ]


def matches(segments: list[SegmentIndex], batches: list[Events]) -> int:
    """How many matches batches have in all of some segments."""
    return sum(len(index.match(batch)) for batch in batches for index in segments)


def timed(segments: list[SegmentIndex], events: Events) -> float:
    """Seconds to match events: the fastest of nine, for few of them take milliseconds."""
    batches, taken = batched(events), []
    for _ in range(_REPEATS):
        started = time.perf_counter()
        matches(segments, batches)
        taken.append(time.perf_counter() - started)
    return min(taken)
