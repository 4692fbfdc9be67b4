"""Zones in this process: a segment per zone, matched with events as in a Spark worker."""

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
_AT_ONCE = 1 << 15  # events of a batch, as in a worker
_REPEATS = 9


def cut(load: Workload, count: int, zones: int, sampled: int) -> ZoneMap:
    """Return a zone map, built from the first events and subscriptions of a workload.

    Args:
        load: the workload.
        count: number of subscriptions that the sample represents.
        zones: requested number of zones.
        sampled: number of events, and largest number of subscriptions, in the sample.
    """
    regions = load.generate_regions(0, min(count, sampled))
    sample = ZoneSample.from_events(events_of(load, 0, sampled), regions, represented_count=count)
    tree = build_zone_tree(sample, zones)
    return ZoneMap.build(
        tree, sample.measure_loads(tree)[0], requested_zones=zones, regions=regions
    )


def events_of(load: Workload, start: int, stop: int) -> Events:
    """Return the events of a workload from number `start` to `stop` - 1."""
    return Events.from_arrow(pa.Table.from_batches([load.generate_events(start, stop)]), load.space)


@dataclass(frozen=True, slots=True)
class Spread:
    """Regions by zone: `rows` has the rows of `regions` by the zone, or by `EVERYWHERE`."""

    regions: Regions
    rows: dict[int, Rows]

    @classmethod
    def of(cls, regions: Regions, zoning: ZoneMap) -> Spread:
        """Return the regions by zone; each region is one subscription."""
        count = len(regions)
        members = zoning.iterate_members(regions, np.arange(count), count)
        return cls(regions, {in_zone.zone: in_zone.rows for in_zone in members})

    @property
    def stored(self) -> int:
        """Number of stored regions in all zones, replicas included."""
        return sum(map(len, self.rows.values()))

    def segments(self, zones: int) -> Iterator[tuple[int, list[SegmentIndex]]]:
        """Yield each zone with its indexes: its segment, and the broadcast segment if any."""
        everywhere = self._built(EVERYWHERE)
        for zone in range(zones):
            yield zone, [*self._built(zone), *everywhere]

    def _built(self, zone: int) -> list[SegmentIndex]:
        rows = self.rows.get(zone)
        return [] if rows is None else [SegmentIndex.build(self.regions.take(rows))]


def batched(events: Events) -> list[Events]:
    """Return events in batches of the size that a worker gets."""
    return [
        events.take(np.arange(start, min(start + _AT_ONCE, len(events))))
        for start in range(0, len(events), _AT_ONCE)
    ]


def matches(segments: list[SegmentIndex], batches: list[Events]) -> int:
    """Match all batches with all segments, and return the number of pairs."""
    return sum(len(index.match(batch)) for batch in batches for index in segments)


def timed(segments: list[SegmentIndex], events: Events) -> float:
    """Return the seconds to match events: the fastest of nine runs of some milliseconds each."""
    batches, seconds = batched(events), []
    for _ in range(_REPEATS):
        start = time.perf_counter()
        matches(segments, batches)
        seconds.append(time.perf_counter() - start)
    return min(seconds)
