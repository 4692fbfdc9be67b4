"""A zone tree built from samples: no zone has much more work or many more regions than others.

The zone with the most is split first, where the larger side has least and few regions are on both;
so it goes on until there are enough. What no split divides (events that are all alike, regions that
are everywhere) stays one zone: its events can be shared out among several partitions of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from covey.errors import InvalidArgumentError
from covey.geometry import Regions
from covey.index import SegmentIndex
from covey.space import Events
from covey.zones.split_candidates import SplitCandidate, generate_candidates
from covey.zones.zone_tree import ZoneTree

__all__ = ["ZoneSample", "build_zone_tree", "find_best_split"]

Floats = NDArray[np.float64]

_MATCHES_PER_EVENT = 16  # that cost as much as an event without any, as measured on boxes
_MAX_SIDE_SHARE = 0.95  # of work or of regions that the larger side of a split may keep,
_MAX_COPIED_SHARE = 0.1  # if no more than so many regions are on both sides;
_MAX_REGION_SHARE = 0.75  # of regions that it may keep however many are


@dataclass(frozen=True, slots=True)
class ZoneSample:
    """Some events, what each costs to match, and some regions of those that they are matched with.

    Without events zones have equal numbers of regions, whatever comes to them.
    """

    events: Events
    event_work: Floats
    regions: Regions

    @classmethod
    def from_events(
        cls, events: Events, regions: Regions, *, represented_count: int | None = None
    ) -> ZoneSample:
        """Events that cost one each, and one more for every sixteen matches.

        So many regions are those that are given taken to stand for; without it, themselves.
        """
        if not len(events):
            return cls(events, np.empty(0), regions)
        found = SegmentIndex.build(regions).match(events)
        matches = np.bincount(found.query_rows, minlength=len(events))
        each = 1 if represented_count is None else represented_count / max(1, len(regions))
        return cls(events, 1.0 + each * matches / _MATCHES_PER_EVENT, regions)

    def measure_loads(self, tree: ZoneTree) -> tuple[Floats, Floats]:
        """For each zone its share of the work, and how many of the sample's regions it has."""
        count = len(tree)
        work = np.bincount(tree.find_event_zones(self.events), self.event_work, minlength=count)
        regions = np.bincount(tree.find_region_zones(self.regions).stored_rows, minlength=count)
        return work / max(float(work.sum()), 1e-9), regions.astype(np.float64)


def build_zone_tree(
    sample: ZoneSample, zone_count: int, *, attributes: frozenset[str] | None = None, seed: int = 0
) -> ZoneTree:
    """A tree of so many zones, or of fewer where nothing can be split any more.

    Only the given attributes are split by, or without them all that events have.

    Cost: a sort of the sample per attribute and zone; a second for 64 zones and 20,000 of each.
    """
    if zone_count < 1:
        raise InvalidArgumentError(f"zones must be at least 1, got {zone_count}")
    chosen = frozenset(sample.regions.constraints) if attributes is None else attributes
    tree, growing = ZoneTree(), {0: sample}
    while len(tree) < zone_count and growing:
        zone = max(growing, key=lambda z: _relative_load(growing[z], sample))
        found = find_best_split(growing[zone], chosen, seed=[seed, len(tree)])
        if found is None:
            del growing[zone]
            continue
        low, high = _split_sample(growing[zone], found)
        growing[zone], growing[len(tree)] = low, high
        tree = tree.with_split(zone, found.split)
    return tree


def _relative_load(zone_sample: ZoneSample, whole_sample: ZoneSample) -> float:
    """What a zone has of all, work or regions, whichever is more."""
    work = zone_sample.event_work.sum() / max(float(whole_sample.event_work.sum()), 1e-9)
    return max(float(work), len(zone_sample.regions) / max(1, len(whole_sample.regions)))


def find_best_split(
    zone_sample: ZoneSample, attributes: frozenset[str], *, seed: Sequence[int] = (0,)
) -> SplitCandidate | None:
    """The split after which the larger side has least, and few regions are on both, if any."""
    work, count = max(float(zone_sample.event_work.sum()), 1e-9), max(1, len(zone_sample.regions))

    def cost(found: SplitCandidate) -> float:
        """What the larger side has of the work and of the regions, and what is there twice."""
        twice = (sum(found.side_region_counts) - count) / count
        return max(found.side_work) / work + max(found.side_region_counts) / count + twice

    def parts(found: SplitCandidate) -> bool:
        """Whether it is worth it: regions are divided, or work is, and few regions are copied.

        Work alone can be shared out among partitions, which copies nothing.
        """
        is_cheap = sum(found.side_region_counts) - count <= _MAX_COPIED_SHARE * count
        is_parted = (
            max(found.side_work) < _MAX_SIDE_SHARE * work
            or max(found.side_region_counts) < _MAX_SIDE_SHARE * count
        )
        return max(found.side_region_counts) <= _MAX_REGION_SHARE * count or (
            is_cheap and is_parted
        )

    tried = generate_candidates(
        zone_sample.events, zone_sample.event_work, zone_sample.regions, attributes, list(seed)
    )
    return min(filter(parts, tried), key=cost, default=None)


def _split_sample(
    zone_sample: ZoneSample, candidate: SplitCandidate
) -> tuple[ZoneSample, ZoneSample]:
    rows, events = np.arange(len(zone_sample.regions)), np.arange(len(zone_sample.events))
    high = (
        candidate.split.is_high(zone_sample.events, events)
        if len(events)
        else np.zeros(0, np.bool_)
    )
    low_regions, high_regions = (
        rows[side] for side in candidate.split.find_sides(zone_sample.regions, rows)
    )
    return (
        ZoneSample(
            zone_sample.events.take(events[~high]),
            zone_sample.event_work[~high],
            zone_sample.regions.take(low_regions),
        ),
        ZoneSample(
            zone_sample.events.take(events[high]),
            zone_sample.event_work[high],
            zone_sample.regions.take(high_regions),
        ),
    )
