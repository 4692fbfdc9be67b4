"""A version opened for reading: what matches, and whose it is.

Subscriptions have row numbers here, which mean nothing in another version; `ids` leads from them to
ids. A snapshot needs no lease: its files are open, and stay readable when they are deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import index
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from covey._argument_checks import check_arguments, check_rows
from covey.geometry import Regions
from covey.index import MatchResult, Pairs
from covey.space import Events, Space
from covey.store.ids import IdKind, Ids
from covey.store.manifest.manifest import Manifest
from covey.store.segments.expiry import region_expired_before
from covey.store.segments.live_segment import LiveSegment
from covey.store.segments.pairs import NO_TOMBSTONES, concat_live_pairs
from covey.store.segments.segment import IndexedSubscriptions, SubscriptionBatch

__all__ = ["IdMatches", "Snapshot", "SubscriptionMatches"]

Rows = NDArray[np.integer[Any]]
_NO_PAIRS = Pairs(np.empty(0, np.int64), np.empty(0, np.int64))


@dataclass(frozen=True, slots=True)
class SubscriptionMatches(MatchResult):
    """Subscriptions that events match: (event row, subscription row), each pair once.

    Candidates are counted with dead subscriptions, and with several regions of one.
    `forwarded_pairs` say which events go on to which zones: (event row, zone), each pair once.
    """

    forwarded_pairs: Pairs


@dataclass(frozen=True, slots=True)
class IdMatches:
    """Subscriptions that events match: row `event_rows[i]` of the events notifies `ids[i]`.

    `candidates` and `forwarded_pairs` are those of `SubscriptionMatches`.
    """

    event_rows: Rows
    ids: pa.Array
    candidates: int
    forwarded_pairs: Pairs

    def __len__(self) -> int:
        return len(self.event_rows)

    def __iter__(self) -> Iterator[tuple[int, int | str]]:
        return zip(self.event_rows.tolist(), self.ids.to_pylist(), strict=True)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One exact set of subscriptions, to be asked by any number of threads.

    Cost of a question: that of each segment, some nanoseconds a pair, and a sort of the pairs where
    subscriptions have several regions.
    """

    manifest: Manifest
    live_segments: tuple[LiveSegment, ...] = field(repr=False)

    @property
    def space(self) -> Space:
        """The attributes that events must have, derived ones included."""
        return self.manifest.space

    @property
    def constrained_attributes(self) -> list[str]:
        """The attributes that some region constrains, in the order of the space."""
        names = {
            name
            for part in self.live_segments
            for name in part.subscriptions.index.constrained_attributes
        }
        return [attribute.name for attribute in self.space if attribute.name in names]

    def __len__(self) -> int:
        return sum(part.live_count for part in self.live_segments)

    @check_arguments
    def match(self, events: Events, *, max_pairs: int | None = None) -> SubscriptionMatches:
        """Return the subscriptions that each event matches.

        With more than about `max_pairs` pairs it raises `ResultTooLargeError`, before memory is
        taken for them: ask for fewer events at once.
        """
        within = {
            part.gated_by: np.empty(0, np.int64) for part in self.live_segments if part.gated_by
        }
        asked = set[str]()
        candidates, forwarded = 0, list[Pairs]()

        def query_segment_rows(part: LiveSegment) -> Pairs:
            """A segment that gates others comes before them, or they are asked for all events."""
            nonlocal candidates
            index = part.subscriptions.index
            if part.gated_by in asked:
                rows = within[part.gated_by]
                found = index.match(events.take(rows), max_pairs=max_pairs)
                candidates += found.candidates
                return Pairs(rows[found.query_rows], found.stored_rows)
            found = index.match(events, max_pairs=max_pairs)
            candidates += found.candidates
            if part.subscriptions.forward_to is not None:
                forwarded.append(_forward_pairs(part.subscriptions, found))
            asked.add(part.file)
            if part.file in within:
                within[part.file] = np.unique(found.query_rows).astype(np.int64)
            return found

        pairs = self._query_segments(query_segment_rows)
        return SubscriptionMatches(
            pairs.query_rows, pairs.stored_rows, candidates, _concat_forwarded_pairs(forwarded)
        )

    @check_arguments
    def match_ids(self, events: Events, *, max_pairs: int | None = None) -> IdMatches:
        """Return the same with the ids of subscriptions instead of their rows."""
        if self.manifest.id_kind is IdKind.NUMBER and len(self.live_segments) == 1:
            (part,) = self.live_segments
            is_whole = not part.tombstones.dead_count and part.subscriptions.forward_to is None
            keys = part.subscriptions.keys_by_ordinal() if is_whole else None
            if keys is not None:  # the usual case, in which nothing is looked up twice
                named = part.subscriptions.index.match_values(events, keys, max_pairs=max_pairs)
                ids = pa.array(named.stored_rows)
                return IdMatches(named.query_rows, ids, named.candidates, _NO_PAIRS)
        found = self.match(events, max_pairs=max_pairs)
        ids = self.take_ids(found.stored_rows)
        return IdMatches(found.query_rows, ids, found.candidates, found.forwarded_pairs)

    @check_arguments
    def find_covering(self, regions: Regions) -> Pairs:
        """Subscriptions that have a region which covers the given one."""
        return self._query_segments(lambda part: part.subscriptions.index.find_covering(regions))

    @check_arguments
    def find_overlapping(self, regions: Regions) -> Pairs:
        """Subscriptions that have an event in common with each given region."""
        return self._query_segments(lambda part: part.subscriptions.index.find_overlapping(regions))

    @check_arguments
    def find_covered(self, regions: Regions) -> Pairs:
        """Subscriptions whose regions are all covered by the given one; they have one at least."""
        answers = []
        for part, start in zip(self.live_segments, self._first_rows.tolist(), strict=False):
            alive = concat_live_pairs(
                [part.to_segment_pairs(part.subscriptions.index.find_covered(regions), 0)]
            )
            once, counts = _count_distinct_pairs(
                Pairs.from_unsorted(alive.query_rows, alive.stored_rows)
            )
            whole = counts == part.subscriptions.count_regions(once.stored_rows)
            answers.append((once.query_rows[whole], once.stored_rows[whole], NO_TOMBSTONES, start))
        return concat_live_pairs(answers)

    @check_arguments
    def find_expired(self, attribute: str, before_key: int) -> Rows:
        """Rows, ascending, of subscriptions whose regions all end before a key of an attribute.

        Events that have this key or a later one, or null, match none of them. A region that admits
        null does not end, nor does one that leaves the attribute free; a subscription without a
        region is not among them. Keys are those of `covey.space.keys`: of a timestamp the
        microseconds since 1970.

        Cost: that of `find_covered`, of one region. At a million boxes in five attributes 10 to 20
        ms if few have ended, 0.1 s for 100,000, 0.7 s for 900,000.
        """
        over = region_expired_before(self.space, attribute, index(before_key))
        return np.sort(self.find_covered(over).stored_rows)

    @check_arguments
    def take_ids(self, rows: Rows) -> pa.Array:
        """The ids of subscriptions by row: int64, or text as `large_string`."""
        check_rows("rows", rows, int(self._first_rows[-1]))
        if len(self.live_segments) == 1:
            return self.live_segments[0].subscriptions.ids.to_arrow().take(pa.array(rows))
        part_of = np.searchsorted(self._first_rows, rows, "right") - 1
        chosen, places = (
            [Ids.from_values([], self.manifest.id_kind).to_arrow()],
            [np.empty(0, np.int64)],
        )
        for i, part in enumerate(self.live_segments):
            mine = np.flatnonzero(part_of == i)
            chosen.append(
                part.subscriptions.ids.to_arrow().take(pa.array(rows[mine] - self._first_rows[i]))
            )
            places.append(mine)
        order = np.empty(len(rows), np.int64)
        order[np.concatenate(places)] = np.arange(len(rows))
        return pa.concat_arrays(chosen).take(pa.array(order))

    def find_rows(self, ids: object) -> Rows:
        """The row of each id, -1 where there is no such subscription."""
        asked = Ids.from_values(ids, self.manifest.id_kind)
        rows = np.full(len(asked), -1, np.int64)
        for part, start in zip(self.live_segments, self._first_rows, strict=False):
            found = part.find_rows(asked)
            rows = np.where(found >= 0, found + start, rows)
        return rows

    @check_arguments
    def take_revisions(self, rows: Rows) -> Rows:
        """The revision that each subscription was given with, by row: int64, 0 if with none.

        It is 0 too for row -1, which is what `find_rows` gives for an id that is not there. Cost:
        some nanoseconds a row and segment.
        """
        check_rows("rows", rows, int(self._first_rows[-1]), first=-1)
        revisions = np.zeros(len(rows), np.int64)
        part_of = np.searchsorted(self._first_rows, rows, "right") - 1
        for i, part in enumerate(self.live_segments):
            mine = np.flatnonzero(part_of == i)
            revisions[mine] = part.subscriptions.take_revisions(rows[mine] - self._first_rows[i])
        return revisions

    @property
    def rows(self) -> Rows:
        """The rows of all subscriptions, ascending."""
        starts = self._first_rows
        live = [
            p.tombstones.live_rows + s for p, s in zip(self.live_segments, starts, strict=False)
        ]
        return np.concatenate([np.empty(0, np.int64), *live])

    @check_arguments
    def take_regions(self, rows: Rows) -> tuple[Regions, Rows]:
        """The regions of subscriptions by row, and for each region which of `rows` it belongs to.

        They come segment by segment, so the second array is not ascending in general.
        """
        check_rows("rows", rows, int(self._first_rows[-1]))
        part_of = np.searchsorted(self._first_rows, rows, "right") - 1
        regions, of = [Regions(self.space, 0, {})], [np.empty(0, np.int64)]
        for i, part in enumerate(self.live_segments):
            mine = np.flatnonzero(part_of == i)
            owned: SubscriptionBatch = part.subscriptions.take(rows[mine] - self._first_rows[i])
            regions.append(owned.regions)
            of.append(mine[owned.subscription_rows])
        return Regions.concat(regions), np.concatenate(of)

    @property
    def _first_rows(self) -> Rows:
        """The first row of each part, and after the last."""
        return np.cumsum([0, *(len(part.subscriptions) for part in self.live_segments)])

    def _query_segments(self, query_segment: Callable[[LiveSegment], Pairs]) -> Pairs:
        """Each asked row with each subscription that counts and has a region in the answer."""
        parts = zip(self.live_segments, self._first_rows.tolist(), strict=False)
        found = concat_live_pairs(
            [p.to_segment_pairs(query_segment(p), start) for p, start in parts]
        )
        is_one_each = all(
            part.subscriptions.subscription_rows is None for part in self.live_segments
        )
        return (
            found
            if is_one_each
            else Pairs.from_unsorted(found.query_rows, found.stored_rows).drop_duplicates()
        )


def _forward_pairs(subscriptions: IndexedSubscriptions, matched_pairs: Pairs) -> Pairs:
    """Which events go on to which zones, for what they match, dead or not."""
    assert subscriptions.forward_to is not None
    places, which = subscriptions.forward_to.flat_indices(
        subscriptions.to_subscription_rows(matched_pairs).astype(np.int64)
    )
    return Pairs(matched_pairs.query_rows[which], subscriptions.forward_to.values[places])


def _concat_forwarded_pairs(forwarded_pairs: Sequence[Pairs]) -> Pairs:
    """Return what several segments forward as one answer, each pair once."""
    if not forwarded_pairs:
        return _NO_PAIRS
    return Pairs.from_unsorted(
        np.concatenate([pairs.query_rows for pairs in forwarded_pairs]),
        np.concatenate([pairs.stored_rows for pairs in forwarded_pairs]),
    ).drop_duplicates()


def _count_distinct_pairs(pairs: Pairs) -> tuple[Pairs, Rows]:
    """Each different pair once, and how often it is there."""
    changes = (np.diff(pairs.query_rows) != 0) | (np.diff(pairs.stored_rows) != 0)
    starts = np.flatnonzero(np.r_[True, changes][: len(pairs)])
    counts = np.diff(np.r_[starts, len(pairs)])
    return Pairs(pairs.query_rows[starts], pairs.stored_rows[starts]), counts
