"""Regions by key that come and go, and an index of those that are there."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from covey.geometry import Regions
from covey.index import Scan, Segment
from covey.space import Events, Space
from covey.table.kept import Kept
from covey.table.spans import Spans

__all__ = ["Change", "Changing"]

Numbers = NDArray[np.int64]
_FEW = 64  # regions that are tried one by one


@dataclass(frozen=True, slots=True)
class Change:
    """Keys that come, with their regions, and keys that go, with theirs.

    Region r of `regions` belongs to `ids[of[r]]`, and `of` ascends. What comes is there before what
    goes is gone; a key may do both.
    """

    ids: list[Hashable]
    regions: Regions
    of: Numbers
    gone: list[Hashable]
    gone_regions: Regions

    def __bool__(self) -> bool:
        return bool(self.ids or self.gone)


class Changing:
    """Regions by key. Cost: an index is built when it is asked for after a change."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self._kept = Kept(space)
        self._spans = Spans()
        self._index: tuple[list[Hashable], Numbers, Scan | Segment] | None = None

    def __len__(self) -> int:
        return len(self._spans)

    def __contains__(self, key: Hashable) -> bool:
        return key in self._spans

    def apply(
        self, ids: Sequence[Hashable], regions: Regions, of: Numbers, gone: Iterable[Hashable]
    ) -> Change:
        """Adds and removes; a key that is not there goes without a word."""
        self._index = None
        going = [key for key in gone if key in self._spans]
        removed = self._kept.take(self._spans.pop(going))
        order = np.argsort(of, kind="stable")
        regions, of = regions.take(order), of[order]
        first = self._kept.next
        self._kept.add(regions)
        self._spans.put(ids, first, of)
        return Change(list(ids), regions, of, going, removed)

    def take(self, keys: Iterable[Hashable]) -> Change:
        """Some keys, as if they came now."""
        ids = list(keys)
        numbers, of = self._spans.numbers(ids)
        return Change(ids, self._kept.take(numbers), of, [], Regions(self.space, 0, {}))

    def all(self) -> Change:
        """Everything, as if it came now."""
        return self.take(self._spans)

    def without(self) -> Change:
        """Everything, as if it went now."""
        here, nothing = self.all(), Regions(self.space, 0, {})
        return Change([], nothing, np.empty(0, np.int64), here.ids, here.regions)

    def matching(self, events: Events) -> tuple[Numbers, list[Hashable]]:
        """Rows of events and keys whose regions contain them, each pair once."""
        keys, owners, index = self._indexed()
        found = index.matching(events)
        pairs = np.unique(
            np.stack([found.asked.astype(np.int64), owners[found.stored]], axis=1), axis=0
        )
        return pairs[:, 0], [keys[owner] for owner in pairs[:, 1]]

    def overlapping(self, regions: Regions) -> list[Hashable]:
        """Keys with a region that has an event in common with one of these."""
        keys, owners, index = self._indexed()
        found = index.overlapping(regions)
        return [keys[owner] for owner in np.unique(owners[found.stored])]

    def overlaps(self, regions: Regions) -> NDArray[np.bool_]:
        """Whether each of these has an event in common with some region here."""
        answer = np.zeros(len(regions), np.bool_)
        if len(self._spans) and len(regions):
            answer[self._indexed()[2].overlapping(regions).asked] = True
        return answer

    def admits(self, events: Events) -> NDArray[np.bool_]:
        """Whether some region contains each event."""
        answer = np.zeros(len(events), np.bool_)
        if len(self._spans):
            answer[self._indexed()[2].matching(events).asked] = True
        return answer

    def _indexed(self) -> tuple[list[Hashable], Numbers, Scan | Segment]:
        if self._index is None:
            here = self.all()
            build = Scan if len(here.regions) <= _FEW else Segment.build
            self._index = here.ids, here.of, build(here.regions)
        return self._index
