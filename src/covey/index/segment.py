"""The exact index of any mix of intervals, lists, tags and balls, made of arrays that never change.

Intervals become boxes of codes in a tree of bitmaps; a region that wants tokens is found by the
rarest of them, one more attribute of that tree. What boxes cannot say is verified on what they
propose.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey.geometry import Regions
from covey.geometry.relations import check_same_types, covers, overlaps
from covey.index.alike import Alike
from covey.index.asked import Asked
from covey.index.build import parts_of
from covey.index.contract import Pairs, Tally
from covey.index.kernels.groups import paired
from covey.index.kernels.search import agreed, contained, some_contained
from covey.index.pack import pack, unpack
from covey.index.parts import Parts
from covey.index.restore import regions_at
from covey.index.scratch import found
from covey.space import Events, Space

__all__ = ["Segment"]

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
_AT_ONCE = 1 << 15  # events that go down the tree together
_FEW_WORDS = 2  # of four codes each: for these the kernel is compiled
_MEETING_AT_ONCE = 1 << 10  # regions, which may meet many


@dataclass(frozen=True, slots=True)
class Segment:
    """An index of n regions.

    Guarantee: every answer is that of `Scan`. Cost: `matching` and `covering` grow slower than the
    number of regions as long as constraints tell them apart.
    """

    space: Space
    parts: Parts
    _alike: Alike | None = field(default=None, repr=False, compare=False)
    _places: list[NDArray[np.int32]] = field(default_factory=list, repr=False, compare=False)

    @classmethod
    def build(
        cls, regions: Regions, sample: Events | None = None, alike: Alike | None = None
    ) -> Segment:
        """An index of all these regions, by their row numbers.

        A sample of events, some thousands, makes it faster for events like them. Segments that are
        built `alike` find covers faster where all of them are asked for those of the same regions.
        """
        parts = parts_of(regions, sample, Alike() if alike is None else alike)
        return cls(regions.space, parts, None if parts.vocabularies else alike)

    @classmethod
    def from_arrays(cls, space: Space, arrays: Mapping[str, NDArray[Any]]) -> Segment:
        """The segment that `arrays` took apart, in the space of its regions."""
        return cls(space, unpack(space, arrays))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that it is made of, but for its space, as arrays of numbers."""
        return pack(self.parts)

    def __len__(self) -> int:
        return len(self.parts.order)

    @property
    def constrained(self) -> set[str]:
        """The attributes that some region constrains."""
        parts = self.parts
        kinds = (parts.columns, parts.near, parts.rest)
        return {part.name for kind in kinds for part in kind} | set(parts.vocabularies)

    def by_place(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values of stored regions, by row, in the order in which `matching` can give them."""
        return values[self.parts.order]

    def matching(
        self,
        events: Events,
        most: int | None = None,
        named: NDArray[Any] | None = None,
        tally: Tally | None = None,
    ) -> Pairs:
        """Stored regions that contain each event.

        With many more than `most` pairs in a portion of the events it is `TooManyPairs`, found
        out while searching: ask for fewer events at once. One event alone is always answered.
        With `named`, which is of `by_place`, pairs have its values instead of rows: that costs
        less than to look them up afterwards. What was found before the last look goes into `tally`.
        """
        if len(events) > _AT_ONCE:
            return self._in_portions(events, most, named, tally)
        self._check(events.space)
        asked = Asked.events(events, self.parts.columns, self.parts.vocabularies)
        most = None if len(events) == 1 else most
        owners, places = self._containing(asked, most=most)
        for near in self.parts.near:
            owners, places = self._with(asked, owners, places, *near.matching(events, most))
        if tally is not None:
            tally.proposed += len(owners)
        if self.parts.rest:
            kept = self._is_exact(places)
            doubt = np.flatnonzero(~kept)
            kept[doubt] = self._hold(events, asked, owners[doubt], places[doubt])
            owners, places = owners[kept], places[kept]
        return self._pairs(len(events), owners, places, named)

    def covering(self, regions: Regions, limit: int | None = None) -> Pairs:
        """Stored regions that cover each given one; with a limit, some of them."""
        self._check(regions.space)
        if self._alike is None:
            asked = Asked.regions(regions, self.parts.columns, self.parts.vocabularies)
        else:
            asked = self._alike.asked(regions, self.parts.columns)
        owners, places = self._containing(asked, limit)
        for near in self.parts.near:
            owners, places = self._with(asked, owners, places, *near.covering(regions))
        if self.parts.rest or self.parts.near:
            kept = self._is_exact(places)
            doubt = np.flatnonzero(~kept)
            stored, at = regions_at(self.space, self.parts, places[doubt])
            kept[doubt] = covers(stored, at, regions, owners[doubt])
            owners, places = owners[kept], places[kept]
        pairs = self._pairs(len(regions), owners, places)
        return pairs if limit is None else pairs.first(limit)

    def covered_by(self, regions: Regions) -> Pairs:
        """Stored regions that each given one covers."""
        owners, places = self._meeting(regions, inside=True)
        stored, at = regions_at(self.space, self.parts, places)
        kept = covers(regions, owners, stored, at)
        return self._pairs(len(regions), owners[kept], places[kept])

    def overlapping(self, regions: Regions) -> Pairs:
        """Stored regions that have an event in common with each given one."""
        owners, places = self._meeting(regions, inside=False)
        stored, at = regions_at(self.space, self.parts, places)
        kept = overlaps(regions, owners, stored, at)
        return self._pairs(len(regions), owners[kept], places[kept])

    def regions(self, rows: Ints) -> Regions:
        """The given rows as regions again, in the given order.

        The first call finds the place of every row, and keeps it: 4 bytes a region.
        """
        if not self._places:
            places = np.empty(len(self), np.int32)
            places[self.parts.order] = np.arange(len(self), dtype=np.int32)
            self._places.append(places)
        stored, at = regions_at(self.space, self.parts, self._places[0][rows].astype(np.int64))
        return stored.take(at)

    def _in_portions(
        self, events: Events, most: int | None, named: NDArray[Any] | None, tally: Tally | None
    ) -> Pairs:
        """What `matching` answers, some events after others, so that memory is bounded."""
        starts = range(0, len(events), _AT_ONCE)
        portions = [np.arange(start, min(start + _AT_ONCE, len(events))) for start in starts]
        found = [self.matching(events.take(rows), most, named, tally) for rows in portions]
        return Pairs(
            np.concatenate([p.asked + start for p, start in zip(found, starts, strict=True)]),
            np.concatenate([pairs.stored for pairs in found]),
        )

    def _check(self, space: Space) -> None:
        """Raises where an attribute that is constrained has another type in another space."""
        if space is not self.space:
            names = [column.name for column in self.parts.columns]
            names += [near.name for near in self.parts.near]
            names += [rest.name for rest in self.parts.rest]
            check_same_types(Regions(self.space, 0, {}), space, names)

    def _containing(
        self, asked: Asked, limit: int | None = None, most: int | None = None
    ) -> tuple[Any, Any]:
        """Owners and the places of boxes in the tree that contain both of their corners.

        All of them, or enough.
        """
        if not len(self) or not len(asked.low):
            return np.empty(0, np.int32), np.empty(0, np.int32)
        high = None if asked.high is asked.low else asked.high
        starts, rows = self.parts.tree.reached(asked.low, high, most)
        leaves = self.parts.tree.levels[-1]
        down = (asked.low, high, rows, starts, *leaves)
        if limit is None:
            words = asked.low.shape[1] // 4
            fours = tuple(range(words)) if words <= _FEW_WORDS else ()
            more = (fours, *self._compared(asked))
            places, rows = found(contained, len(leaves.children) - 1, down, more, most)
        else:
            left = np.full(len(asked.low_keys), min(limit, len(self)), np.int32)
            more = (*self._compared(asked), self.parts.exact, left)
            places, rows = found(some_contained, len(leaves.children) - 1, down, more)
        return asked.owner[rows] if len(asked.owner) > len(asked.low_keys) else rows, places

    def _with(
        self, asked: Asked, owners: Any, places: Any, more_owners: Ints, more_places: Ints
    ) -> tuple[Any, Any]:
        """Pairs, and more of them as far as their boxes contain both corners too."""
        high = None if asked.high is asked.low else asked.high
        rows, others = more_owners.astype(np.int32), more_places.astype(np.int32)
        kept = agreed(rows, others, asked.low, high, *self._compared(asked))
        return np.concatenate([owners, rows[kept]]), np.concatenate([places, others[kept]])

    def _compared(self, asked: Asked) -> tuple[Any, ...]:
        """What kernels compare: corners and boxes, codes and originals."""
        boxes = self.parts.boxes
        return (
            asked.low.view(np.uint64), asked.high.view(np.uint64), asked.owner, asked.low_keys,
            asked.high_keys, boxes.codes, boxes.codes.view(np.uint64), boxes.ends, boxes.starts,
            boxes.sparse, boxes.odd, boxes.before,
        )  # fmt: skip

    def _is_exact(self, places: NDArray[np.int32]) -> Bools:
        """Whether boxes say all of what is at these places."""
        bits = self.parts.exact[places >> 6] >> (places & 63).astype(np.uint64)
        exact: Bools = (bits & np.uint64(1)).astype(np.bool_)
        return exact

    def _hold(self, events: Events, asked: Asked, owners: Any, places: Any) -> Bools:
        """Whether the rest of what is at a place admits an event."""
        kept = np.ones(len(owners), np.bool_)
        for rest in self.parts.rest:
            left = np.flatnonzero(kept)
            kept[left] = rest.holds(events, asked, owners[left], places[left])
        return kept

    def _pairs(
        self, count: int, owners: Any, places: Any, named: NDArray[Any] | None = None
    ) -> Pairs:
        """Pairs by what was asked, from places in any order."""
        named = self.parts.order if named is None else named
        asked, stored = np.empty(len(places), np.int32), np.empty(len(places), named.dtype)
        paired(owners, places, named, count, asked, stored)
        return Pairs(asked, stored)

    def _meeting(self, regions: Regions, inside: bool) -> tuple[Ints, Ints]:
        """Owners and the places of boxes that meet them, or of those that are inside of them."""
        self._check(regions.space)
        pairs = [(np.empty(0, np.int64), np.empty(0, np.int64))]
        for start in range(0, len(regions) if len(self) else 0, _MEETING_AT_ONCE):
            rows = np.arange(start, min(start + _MEETING_AT_ONCE, len(regions)))
            some = regions.take(rows)
            asked = Asked.regions(some, self.parts.columns, {}, bool(self.parts.vocabularies))
            starts, owners = self.parts.tree.meeting(asked.low, asked.high)
            places = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
            pairs.append(self._met(asked, rows, owners, places, inside))
            for near in self.parts.near:
                for row in range(len(rows)):
                    places = near.meeting(some, row)
                    owners = np.full(len(places), row, np.int32)
                    pairs.append(self._met(asked, rows, owners, places, inside))
        return np.concatenate([o for o, _ in pairs]), np.concatenate([p for _, p in pairs])

    def _met(
        self, asked: Asked, rows: Ints, owners: NDArray[np.int32], places: Ints, inside: bool
    ) -> tuple[Ints, Ints]:
        """The pairs whose codes have something in common, or of which one has the other inside."""
        lower, upper = np.split(self.parts.boxes.codes[places], 2, axis=1)
        low, high = asked.low[owners], asked.high[owners]
        kept = (low <= upper) & (lower <= high)
        if inside:
            columns = len(self.parts.columns)
            kept[:, :columns] &= ((low <= lower) & (upper <= high))[:, :columns]
        chosen = np.flatnonzero(kept.all(axis=1))
        return rows[owners[chosen]], places[chosen]
