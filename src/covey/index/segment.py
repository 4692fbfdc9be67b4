"""The exact index of any mix of intervals, lists, tags and balls, made of arrays that never change.

Intervals become boxes of codes in a tree of bitmaps; a region that wants tokens is found by the
rarest of them, one more attribute of that tree. What boxes cannot say is verified on what they
propose.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey.geometry import Regions
from covey.geometry.regions import Constraints
from covey.geometry.relations import check_same_types, covers, overlaps
from covey.index.asked import Asked
from covey.index.boxes import Boxes
from covey.index.build import parts
from covey.index.columns import Column
from covey.index.contract import Pairs
from covey.index.kernels.search import contained, paired, some_contained
from covey.index.pack import pack, unpack
from covey.index.rest import Rest
from covey.index.scratch import found
from covey.index.tree import Tree
from covey.index.vocabulary import Vocabulary
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
    columns: tuple[Column, ...]
    vocabularies: Mapping[str, Vocabulary]
    order: NDArray[np.int32]
    boxes: Boxes
    exact: NDArray[np.uint64]
    tree: Tree
    rest: tuple[Rest, ...]

    @classmethod
    def build(cls, regions: Regions, sample: Events | None = None) -> Segment:
        """An index of all these regions, by their row numbers.

        A sample of events, some thousands, makes it faster for events like them.
        """
        return cls(regions.space, *parts(regions, sample))

    @classmethod
    def from_arrays(cls, space: Space, arrays: Mapping[str, NDArray[Any]]) -> Segment:
        """The segment that `arrays` took apart, in the space of its regions."""
        return cls(space, *unpack(space, arrays))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that it is made of, but for its space, as arrays of numbers."""
        return pack(
            self.columns, self.vocabularies, self.order, self.boxes, self.exact, self.tree,
            self.rest,
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.order)

    def matching(self, events: Events) -> Pairs:
        """Stored regions that contain each event."""
        self._check(events.space)
        asked = Asked.events(events, self.columns, self.vocabularies)
        owners, places = self._containing(asked)
        if self.rest:
            kept = self._is_exact(places)
            doubt = np.flatnonzero(~kept)
            kept[doubt] = self._hold(events, asked, owners[doubt], places[doubt])
            owners, places = owners[kept], places[kept]
        return self._pairs(len(events), owners, places)

    def covering(self, regions: Regions, limit: int | None = None) -> Pairs:
        """Stored regions that cover each given one; with a limit, some of them."""
        self._check(regions.space)
        asked = Asked.regions(regions, self.columns, self.vocabularies)
        owners, places = self._containing(asked, limit)
        if self.rest:
            kept = self._is_exact(places)
            doubt = np.flatnonzero(~kept)
            stored, at = self._regions_at(places[doubt])
            kept[doubt] = covers(stored, at, regions, owners[doubt])
            owners, places = owners[kept], places[kept]
        pairs = self._pairs(len(regions), owners, places)
        return pairs if limit is None else pairs.first(limit)

    def covered_by(self, regions: Regions) -> Pairs:
        """Stored regions that each given one covers."""
        owners, places = self._meeting(regions, inside=True)
        stored, at = self._regions_at(places)
        kept = covers(regions, owners, stored, at)
        return self._pairs(len(regions), owners[kept], places[kept])

    def overlapping(self, regions: Regions) -> Pairs:
        """Stored regions that have an event in common with each given one."""
        owners, places = self._meeting(regions, inside=False)
        stored, at = self._regions_at(places)
        kept = overlaps(regions, owners, stored, at)
        return self._pairs(len(regions), owners[kept], places[kept])

    def regions(self, rows: Ints) -> Regions:
        """The given rows as regions again, in the given order."""
        places = np.empty(len(self), np.int64)
        places[self.order] = np.arange(len(self))
        stored, at = self._regions_at(places[rows])
        return stored.take(at)

    def _check(self, space: Space) -> None:
        """Raises where an attribute that is constrained has another type in another space."""
        if space is not self.space:
            names = [c.name for c in self.columns] + [rest.name for rest in self.rest]
            check_same_types(Regions(self.space, 0, {}), space, names)

    def _containing(self, asked: Asked, limit: int | None = None) -> tuple[Any, Any]:
        """Owners and the places of boxes that contain both of their corners: all, or enough."""
        if not len(self) or not len(asked.low):
            return np.empty(0, np.int32), np.empty(0, np.int32)
        high = None if asked.high is asked.low else asked.high
        starts, rows = self.tree.reached(asked.low, high)
        leaves, boxes = self.tree.levels[-1], self.boxes
        down = (asked.low, high, rows, starts, *leaves)
        rest: tuple[Any, ...] = (
            asked.low.view(np.uint64), asked.high.view(np.uint64), asked.owner, asked.low_keys,
            asked.high_keys, boxes.codes, boxes.codes.view(np.uint64), boxes.ends, boxes.starts,
            boxes.sparse, boxes.odd, boxes.before,
        )  # fmt: skip
        if limit is None:
            words = asked.low.shape[1] // 4
            fours = tuple(range(words)) if words <= _FEW_WORDS else ()
            places, rows = found(contained, len(leaves.children) - 1, down, (fours, *rest))
        else:
            left = np.full(len(asked.low_keys), limit, np.int32)
            more = (*rest, self.exact, left)
            places, rows = found(some_contained, len(leaves.children) - 1, down, more)
        return asked.owner[rows] if len(asked.owner) > len(asked.low_keys) else rows, places

    def _is_exact(self, places: NDArray[np.int32]) -> Bools:
        """Whether boxes say all of what is at these places."""
        bits = self.exact[places >> 6] >> (places & 63).astype(np.uint64)
        exact: Bools = (bits & np.uint64(1)).astype(np.bool_)
        return exact

    def _hold(self, events: Events, asked: Asked, owners: Any, places: Any) -> Bools:
        """Whether the rest of what is at a place admits an event."""
        kept = np.ones(len(owners), np.bool_)
        for rest in self.rest:
            left = np.flatnonzero(kept)
            kept[left] = rest.holds(events, asked, owners[left], places[left])
        return kept

    def _pairs(self, count: int, owners: Any, places: Any) -> Pairs:
        """Pairs by what was asked, from places in any order."""
        asked, stored = np.empty(len(places), np.int32), np.empty(len(places), np.int32)
        paired(owners, places, self.order, count, asked, stored)
        return Pairs(asked, stored)

    def _meeting(self, regions: Regions, inside: bool) -> tuple[Ints, Ints]:
        """Owners and the places of boxes that meet them, or of those that are inside of them."""
        self._check(regions.space)
        pairs = [(np.empty(0, np.int64), np.empty(0, np.int64))]
        for start in range(0, len(regions) if len(self) else 0, _MEETING_AT_ONCE):
            rows = np.arange(start, min(start + _MEETING_AT_ONCE, len(regions)))
            asked = Asked.regions(regions.take(rows), self.columns, {}, bool(self.vocabularies))
            starts, owners = self.tree.meeting(asked.low, asked.high)
            places = np.repeat(np.arange(len(self)), np.diff(starts))
            lower, upper = np.split(self.boxes.codes[places], 2, axis=1)
            low, high = asked.low[owners], asked.high[owners]
            kept = (low <= upper) & (lower <= high)
            if inside:
                columns = len(self.columns)
                kept[:, :columns] &= ((low <= lower) & (upper <= high))[:, :columns]
            chosen = np.flatnonzero(kept.all(axis=1))
            pairs.append((rows[owners[chosen]], places[chosen]))
        return np.concatenate([o for o, _ in pairs]), np.concatenate([p for _, p in pairs])

    def _regions_at(self, places: Any) -> tuple[Regions, Ints]:
        """Regions of some places, each once, and which of them each place has."""
        distinct, at = np.unique(places, return_inverse=True)
        constraints: dict[str, Constraints] = {}
        for k, column in enumerate(self.columns):
            batch = self.boxes.constraints(k, column, distinct)
            rows = np.flatnonzero(~batch.is_everything)
            constraints[column.name] = Constraints(rows, column.originals(batch.take(rows)))
        whole = Regions(self.space, len(distinct), constraints)
        for rest in self.rest:
            whole = _replaced(whole, rest.name, rest.originals(), distinct)
        return whole, at


def _replaced(regions: Regions, name: str, by: Constraints, places: Ints) -> Regions:
    """Regions of these places with the constraints of `by` where it has some."""
    at, there = by.find(places)
    batch: Any = by.batch.take(at[there])
    rows = np.flatnonzero(there)
    if name in regions.constraints:
        given = regions.constraints[name]
        others = np.flatnonzero(~np.isin(given.rows, rows))
        batch = type(batch).concat([given.batch.take(others), batch])
        rows = np.concatenate([given.rows[others], rows])
        order = np.argsort(rows)
        rows, batch = rows[order], batch.take(order)
    return Regions(
        regions.space, regions.count, {**regions.constraints, name: Constraints(rows, batch)}
    )
