"""A version opened for reading: what matches, and whose it is.

Subscriptions have row numbers here, which mean nothing in another version; `ids` leads from them to
ids. A snapshot needs no lease: its files are open, and stay readable when they are deleted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from operator import index
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from covey.geometry import Regions
from covey.index import Pairs, Tally
from covey.space import Events, Space
from covey.store.answers import NONE_DEAD, together
from covey.store.ended import region_before
from covey.store.ids import IdKind, Ids
from covey.store.parts import Part
from covey.store.subscriptions import Owned, Subscriptions
from covey.store.versions import Version

__all__ = ["Snapshot"]

Rows = NDArray[np.integer[Any]]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One exact set of subscriptions, to be asked by any number of threads.

    Cost of a question: that of each segment, some nanoseconds a pair, and a sort of the pairs where
    subscriptions have several regions.
    """

    version: Version
    parts: tuple[Part, ...] = field(repr=False)

    @property
    def space(self) -> Space:
        """The attributes that events must have, derived ones included."""
        return self.version.space

    @property
    def constrained(self) -> list[str]:
        """The attributes that some region constrains, in the order of the space."""
        names = {name for part in self.parts for name in part.subscriptions.index.constrained}
        return [attribute.name for attribute in self.space if attribute.name in names]

    def __len__(self) -> int:
        return sum(part.live_count for part in self.parts)

    def matching(
        self,
        events: Events,
        most: int | None = None,
        tally: Tally | None = None,
        sent: list[Pairs] | None = None,
    ) -> Pairs:
        """Subscriptions that each event matches: (event row, subscription row), each pair once.

        With more than about `most` pairs it is `TooManyPairs`, before memory is taken for them: ask
        for fewer events at once. Pairs with dead subscriptions, and with several regions of one,
        are in the `tally` too. To `sent` is added which events go on to which zones: (event row,
        zone), some more than once.
        """
        within = {part.under: np.empty(0, np.int64) for part in self.parts if part.under}
        asked = set[str]()

        def ask(part: Part) -> Pairs:
            """A part that others are under comes before them, or they are asked for all events."""
            index = part.subscriptions.index
            if part.under in asked:
                rows = within[part.under]
                found = index.matching(events.take(rows), most, tally=tally)
                return Pairs(rows[found.asked], found.stored)
            found = index.matching(events, most, tally=tally)
            if sent is not None and part.subscriptions.onwards is not None:
                sent.append(_onwards(part.subscriptions, found))
            asked.add(part.file)
            if part.file in within:
                within[part.file] = np.unique(found.asked).astype(np.int64)
            return found

        return self._by_any_region(ask)

    def notifications(
        self,
        events: Events,
        most: int | None = None,
        tally: Tally | None = None,
        sent: list[Pairs] | None = None,
    ) -> tuple[Rows, pa.Array]:
        """The same as two columns: the row of an event, and the id of who is to be notified."""
        if self.version.id_kind is IdKind.NUMBER and len(self.parts) == 1:
            (part,) = self.parts
            is_whole = not part.tombstones.dead and (sent is None or not part.rests)
            keys = part.subscriptions.keys_by_place() if is_whole else None
            if keys is not None:  # the usual case, in which nothing is looked up twice
                named = part.subscriptions.index.matching(events, most, keys, tally)
                return named.asked, pa.array(named.stored)
        pairs = self.matching(events, most, tally, sent)
        return pairs.asked, self.ids(pairs.stored)

    def covering(self, regions: Regions) -> Pairs:
        """Subscriptions that have a region which covers the given one."""
        return self._by_any_region(lambda part: part.subscriptions.index.covering(regions))

    def overlapping(self, regions: Regions) -> Pairs:
        """Subscriptions that have an event in common with each given region."""
        return self._by_any_region(lambda part: part.subscriptions.index.overlapping(regions))

    def covered_by(self, regions: Regions) -> Pairs:
        """Subscriptions whose regions are all covered by the given one; they have one at least."""
        answers = []
        for part, start in zip(self.parts, self._starts.tolist(), strict=False):
            alive = together([part.answer(part.subscriptions.index.covered_by(regions), 0)])
            once, counts = _once(Pairs.of(alive.asked, alive.stored))
            whole = counts == part.subscriptions.region_counts(once.stored)
            answers.append((once.asked[whole], once.stored[whole], NONE_DEAD, start))
        return together(answers)

    def ended(self, attribute: str, before: int) -> Rows:
        """Rows, ascending, of subscriptions whose regions all end before a key of an attribute.

        Events that have this key or a later one, or null, match none of them. A region that admits
        null does not end, nor does one that leaves the attribute free; a subscription without a
        region is not among them. Keys are those of `covey.space.keys`: of a timestamp the
        microseconds since 1970.

        Cost: that of `covered_by`, of one region. At a million boxes in five attributes 10 to 20 ms
        if few have ended, 0.1 s for 100,000, 0.7 s for 900,000.
        """
        over = region_before(self.space, attribute, index(before))
        return np.sort(self.covered_by(over).stored)

    def ids(self, rows: Rows) -> pa.Array:
        """The ids of subscriptions by row: int64, or text as `large_string`."""
        if len(self.parts) == 1:
            return self.parts[0].subscriptions.ids.arrow().take(pa.array(rows))
        part_of = np.searchsorted(self._starts, rows, "right") - 1
        chosen, places = [Ids.of([], self.version.id_kind).arrow()], [np.empty(0, np.int64)]
        for i, part in enumerate(self.parts):
            mine = np.flatnonzero(part_of == i)
            chosen.append(
                part.subscriptions.ids.arrow().take(pa.array(rows[mine] - self._starts[i]))
            )
            places.append(mine)
        order = np.empty(len(rows), np.int64)
        order[np.concatenate(places)] = np.arange(len(rows))
        return pa.concat_arrays(chosen).take(pa.array(order))

    def find(self, ids: object) -> Rows:
        """The row of each id, -1 where there is no such subscription."""
        asked = Ids.of(ids, self.version.id_kind)
        rows = np.full(len(asked), -1, np.int64)
        for part, start in zip(self.parts, self._starts, strict=False):
            found = part.find(asked)
            rows = np.where(found >= 0, found + start, rows)
        return rows

    def revisions(self, rows: Rows) -> Rows:
        """The revision that each subscription was given with, by row: int64, 0 if with none.

        It is 0 too for row -1, which is what `find` gives for an id that is not there. Cost: some
        nanoseconds a row and segment.
        """
        revisions = np.zeros(len(rows), np.int64)
        part_of = np.searchsorted(self._starts, rows, "right") - 1
        for i, part in enumerate(self.parts):
            mine = np.flatnonzero(part_of == i)
            revisions[mine] = part.subscriptions.revisions_of(rows[mine] - self._starts[i])
        return revisions

    @property
    def rows(self) -> Rows:
        """The rows of all subscriptions, ascending."""
        starts = self._starts
        live = [p.tombstones.live_rows + s for p, s in zip(self.parts, starts, strict=False)]
        return np.concatenate([np.empty(0, np.int64), *live])

    def regions(self, rows: Rows) -> tuple[Regions, Rows]:
        """The regions of subscriptions by row, and for each region which of `rows` it belongs to.

        They come segment by segment, so the second array is not ascending in general.
        """
        part_of = np.searchsorted(self._starts, rows, "right") - 1
        regions, of = [Regions(self.space, 0, {})], [np.empty(0, np.int64)]
        for i, part in enumerate(self.parts):
            mine = np.flatnonzero(part_of == i)
            owned: Owned = part.subscriptions.take(rows[mine] - self._starts[i])
            regions.append(owned.regions)
            of.append(mine[owned.of])
        return Regions.concat(regions), np.concatenate(of)

    @property
    def _starts(self) -> Rows:
        """The first row of each part, and after the last."""
        return np.cumsum([0, *(len(part.subscriptions) for part in self.parts)])

    def _by_any_region(self, ask: Callable[[Part], Pairs]) -> Pairs:
        """Each asked row with each subscription that counts and has a region in the answer."""
        parts = zip(self.parts, self._starts.tolist(), strict=False)
        found = together([p.answer(ask(p), start) for p, start in parts])
        is_one_each = all(part.subscriptions.of is None for part in self.parts)
        return found if is_one_each else Pairs.of(found.asked, found.stored).once()


def _onwards(subscriptions: Subscriptions, found: Pairs) -> Pairs:
    """Which events go on to which zones, for what they match, dead or not."""
    assert subscriptions.onwards is not None
    places, which = subscriptions.onwards.places(subscriptions.owners(found).astype(np.int64))
    return Pairs(found.asked[which], subscriptions.onwards.values[places])


def _once(pairs: Pairs) -> tuple[Pairs, Rows]:
    """Each different pair once, and how often it is there."""
    changes = (np.diff(pairs.asked) != 0) | (np.diff(pairs.stored) != 0)
    starts = np.flatnonzero(np.r_[True, changes][: len(pairs)])
    counts = np.diff(np.r_[starts, len(pairs)])
    return Pairs(pairs.asked[starts], pairs.stored[starts]), counts
