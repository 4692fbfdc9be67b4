"""Zones cut from samples, so that none has much more work or many more regions than the others.

The zone with the most is cut first, where the larger side has least and few regions are on both;
so it goes on until there are enough. What no cut can part (events that are all alike, regions that
are everywhere) stays one zone: its events can be shared out among several owners of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from covey.errors import ValueRefused
from covey.geometry import Regions
from covey.index import Segment
from covey.space import Events
from covey.zones.candidates import Candidate, candidates
from covey.zones.tree import ZoneTree

__all__ = ["Sample", "best_cut", "cut_zones"]

Floats = NDArray[np.float64]

_MATCHES = 16  # that cost as much as an event without any, as measured on boxes
_PARTED = 0.95  # of work or of regions that the larger side may keep, for a cut to be one,
_COPIED = 0.1  # if no more than so many regions are on both sides;
_SPLIT = 0.75  # of regions that it may keep however many are


@dataclass(frozen=True, slots=True)
class Sample:
    """Some events, what each costs to match, and some regions of those that they are matched with.

    Without events zones have equal numbers of regions, whatever comes to them.
    """

    events: Events
    work: Floats
    regions: Regions

    @classmethod
    def of(cls, events: Events, regions: Regions, stand_for: int | None = None) -> Sample:
        """Events that cost one each, and one more for every sixteen matches.

        So many regions are those that are given taken to stand for; without it, themselves.
        """
        if not len(events):
            return cls(events, np.empty(0), regions)
        found = Segment.build(regions).matching(events)
        matches = np.bincount(found.asked, minlength=len(events))
        each = 1 if stand_for is None else stand_for / max(1, len(regions))
        return cls(events, 1.0 + each * matches / _MATCHES, regions)

    def loads(self, tree: ZoneTree) -> tuple[Floats, Floats]:
        """For each zone its share of the work, and how many of the sample's regions it has."""
        count = len(tree)
        work = np.bincount(tree.owners(self.events), self.work, minlength=count)
        regions = np.bincount(tree.meeting(self.regions).stored, minlength=count)
        return work / max(float(work.sum()), 1e-9), regions.astype(np.float64)


def cut_zones(
    sample: Sample, zones: int, attributes: frozenset[str] | None = None, seed: int = 0
) -> ZoneTree:
    """A tree of so many zones, or of fewer where nothing can be parted any more.

    Only the given attributes are cut, or without them all that events have.

    Cost: a sort of the sample per attribute and zone; a second for 64 zones and 20,000 of each.
    """
    if zones < 1:
        raise ValueRefused(f"no {zones} zones: there is one at least")
    chosen = frozenset(sample.regions.constraints) if attributes is None else attributes
    tree, growing = ZoneTree(), {0: sample}
    while len(tree) < zones and growing:
        zone = max(growing, key=lambda z: _load(growing[z], sample))
        found = best_cut(growing[zone], chosen, [seed, len(tree)])
        if found is None:
            del growing[zone]
            continue
        low, high = _parted(growing[zone], found)
        growing[zone], growing[len(tree)] = low, high
        tree = tree.parted(zone, found.cut)
    return tree


def _load(some: Sample, whole: Sample) -> float:
    """What a zone has of all, work or regions, whichever is more."""
    work = some.work.sum() / max(float(whole.work.sum()), 1e-9)
    return max(float(work), len(some.regions) / max(1, len(whole.regions)))


def best_cut(
    zone: Sample, attributes: frozenset[str], seed: Sequence[int] = (0,)
) -> Candidate | None:
    """The cut after which the larger side has least, and few regions are on both; None if none."""
    work, count = max(float(zone.work.sum()), 1e-9), max(1, len(zone.regions))

    def cost(found: Candidate) -> float:
        """What the larger side has of the work and of the regions, and what is there twice."""
        twice = (sum(found.regions) - count) / count
        return max(found.work) / work + max(found.regions) / count + twice

    def parts(found: Candidate) -> bool:
        """Whether it is worth it: regions are parted, or work is, and few regions are copied.

        Work alone can be shared out among owners, which copies nothing.
        """
        is_cheap = sum(found.regions) - count <= _COPIED * count
        is_parted = max(found.work) < _PARTED * work or max(found.regions) < _PARTED * count
        return max(found.regions) <= _SPLIT * count or (is_cheap and is_parted)

    tried = candidates(zone.events, zone.work, zone.regions, attributes, list(seed))
    return min(filter(parts, tried), key=cost, default=None)


def _parted(zone: Sample, found: Candidate) -> tuple[Sample, Sample]:
    rows, events = np.arange(len(zone.regions)), np.arange(len(zone.events))
    high = found.cut.is_high(zone.events, events) if len(events) else np.zeros(0, np.bool_)
    low_regions, high_regions = (rows[side] for side in found.cut.sides(zone.regions, rows))
    return (
        Sample(zone.events.take(events[~high]), zone.work[~high], zone.regions.take(low_regions)),
        Sample(zone.events.take(events[high]), zone.work[high], zone.regions.take(high_regions)),
    )
