"""Snapshots: open versions, which are queried with events or regions.

In a snapshot, subscriptions have row numbers, which are valid for this version only;
`Snapshot.take_ids` returns the ids of rows. A snapshot needs no lease: its files are open, and stay
readable after they are deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import index
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from covey._argument_checks import check_arguments, check_rows
from covey.geometry import Regions
from covey.index import MatchResult, Pairs, TokenVocabulary
from covey.index.protocol import NO_PAIRS
from covey.space import Attribute, Events, Space
from covey.space.ragged_array import RaggedArray
from covey.store.ids import IdKind, Ids
from covey.store.manifest.manifest import Manifest
from covey.store.segments.expiry import region_expired_before
from covey.store.segments.live_segment import NO_TOMBSTONES, LiveSegment, concat_live_pairs
from covey.store.segments.segment import IndexedSubscriptions, SubscriptionBatch

__all__ = ["IdMatches", "Snapshot", "SubscriptionMatches", "UndecidedPairs"]

Rows = NDArray[np.integer[Any]]


@dataclass(frozen=True, slots=True)
class UndecidedPairs(Pairs):
    """Pairs of an event row and the row of a subscription that only late conditions decide.

    Each pair occurs once. Pair i has the regions `region_offsets[i]` to `region_offsets[i + 1]`; it
    is a match if all late conditions of one of them hold for the event. Row r of `conditions`
    contains the numbers of the conditions of region r. Conditions are numbered through all
    `vocabularies`, one after another.
    """

    region_offsets: NDArray[np.int64]
    conditions: RaggedArray
    vocabularies: tuple[TokenVocabulary, ...]

    @classmethod
    def empty(cls) -> UndecidedPairs:
        """Return no pairs."""
        rows = np.empty(0, np.int64)
        return cls(rows, rows, np.zeros(1, np.int64), RaggedArray.empty(0, np.int64), ())

    def list_tokens(self, pair: int) -> list[list[str]]:
        """Return the conditions of each region of a pair, as tokens of `covey.space.LATE`.

        `covey.language.late_conditions.LateCondition.from_token` reads a token.
        """
        starts = np.cumsum([0, *(len(vocabulary.tokens) for vocabulary in self.vocabularies)])

        def find_token(number: int) -> str:
            source = int(np.searchsorted(starts, number, "right")) - 1
            return self.vocabularies[source].tokens[number - int(starts[source])]

        regions = range(self.region_offsets[pair], self.region_offsets[pair + 1])
        return [[*map(find_token, self.conditions.row(region).tolist())] for region in regions]


_NO_UNDECIDED_PAIRS = UndecidedPairs.empty()


@dataclass(frozen=True, slots=True)
class SubscriptionMatches(MatchResult):
    """Pairs of an event row and the row of a subscription that matches it, each pair once.

    `candidates` is the number of pairs of an event and a region that the indexes proposed; regions
    of dead subscriptions are counted as well. `undecided` contains the pairs that Spark must
    decide. `forwarded_pairs` contains pairs of an event row and the number of a zone to which the
    event is forwarded, each pair once.
    """

    undecided: UndecidedPairs = _NO_UNDECIDED_PAIRS
    forwarded_pairs: Pairs = NO_PAIRS


@dataclass(frozen=True, slots=True)
class IdMatches:
    """Matches by id: event `event_rows[i]` matches the subscription with id `ids[i]`.

    `candidates`, `undecided` and `forwarded_pairs` have the same meaning as in
    `SubscriptionMatches`; the subscription of undecided pair i has the id `undecided_ids[i]`.
    Iteration yields pairs of an event row and an id.
    """

    event_rows: Rows
    ids: pa.Array
    candidates: int
    forwarded_pairs: Pairs
    undecided: UndecidedPairs
    undecided_ids: pa.Array

    def __len__(self) -> int:
        return len(self.event_rows)

    def __iter__(self) -> Iterator[tuple[int, int | str]]:
        return zip(self.event_rows.tolist(), self.ids.to_pylist(), strict=True)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Open version of a store. Any number of threads can query it at the same time.

    Cost of a query: one query of the index of each segment, some nanoseconds per pair, and a sort
    of the pairs unless every subscription has exactly one region.
    """

    manifest: Manifest
    live_segments: tuple[LiveSegment, ...] = field(repr=False)
    _constrained_attributes: list[str] = field(
        default_factory=list, init=False, repr=False, compare=False
    )

    @property
    def space(self) -> Space:
        """Space of the events: columns and derived attributes."""
        return self.manifest.space

    @property
    def constrained_attributes(self) -> list[str]:
        """Names of the attributes that some region constrains, in the order of the space.

        Late conditions are not included; `late_templates` has those. The names are computed by the
        first call.
        """
        if self._constrained_attributes:
            return list(self._constrained_attributes)
        names = {
            name
            for segment in self.live_segments
            for name in segment.subscriptions.index.constrained_attributes
        }
        self._constrained_attributes[:] = [
            attribute.name for attribute in self.space if attribute.name in names
        ]
        return list(self._constrained_attributes)

    @property
    def late_templates(self) -> list[Attribute]:
        """Templates of the late conditions of all segments."""
        names = {
            attribute.name
            for segment in self.live_segments
            for attribute in segment.subscriptions.index.space.derived
            if attribute.is_late
        }
        return [a for a in self.space.derived if a.is_late and a.name in names]

    @property
    def has_several_conditions(self) -> bool:
        """Whether a subscription, live or dead, has several late conditions."""
        return any(part.subscriptions.has_several_conditions for part in self.live_segments)

    def __len__(self) -> int:
        return sum(segment.live_count for segment in self.live_segments)

    @check_arguments
    def match(self, events: Events, *, max_pairs: int | None = None) -> SubscriptionMatches:
        """Return pairs of an event and a live subscription that matches it.

        Pairs that only late conditions decide are in `undecided` of the result: the event matches
        if Spark finds that the conditions hold.

        Args:
            events: a batch of events in the space of the snapshot.
            max_pairs: approximate limit of the pairs that are found in one segment for a portion of
                at most 32,768 events; None for no limit. It does not apply to a single event.

        Raises:
            ResultTooLargeError: if a segment has more pairs than about `max_pairs`. Memory for
                these pairs is not allocated. Match fewer events at once.
        """
        gate_event_rows = {
            segment.gated_by: np.empty(0, np.int64)
            for segment in self.live_segments
            if segment.gated_by
        }
        matched_files = set[str]()
        candidates, forwarded = 0, list[Pairs]()
        undecided_by_file = dict[str, Pairs]()

        def query_segment_rows(segment: LiveSegment) -> Pairs:
            """Match a segment with all events, or a gated one with the events that pass its gate.

            An event passes the gate if a region of the gate contains it. If the gate comes later
            among the segments, or is not among them, the gated segment is matched with all events.
            """
            nonlocal candidates
            index = segment.subscriptions.index
            if segment.gated_by in matched_files:
                rows = gate_event_rows[segment.gated_by]
                result = index.match(events.take(rows), max_pairs=max_pairs)
                candidates += result.candidates
                undecided_by_file[segment.file] = Pairs(
                    rows[result.undecided.query_rows], result.undecided.stored_rows
                )
                return Pairs(rows[result.query_rows], result.stored_rows)
            result = index.match(events, max_pairs=max_pairs)
            candidates += result.candidates
            undecided_by_file[segment.file] = result.undecided
            if segment.subscriptions.forward_to is not None:
                forwarded.append(_forward_pairs(segment.subscriptions, result.possible_pairs))
            matched_files.add(segment.file)
            if segment.file in gate_event_rows:
                possible_rows = np.unique(result.possible_pairs.query_rows)
                gate_event_rows[segment.file] = possible_rows.astype(np.int64)
            return result

        pairs = self._query_segments(query_segment_rows)
        return SubscriptionMatches(
            pairs.query_rows,
            pairs.stored_rows,
            candidates,
            self._to_undecided_pairs(undecided_by_file, pairs),
            _concat_forwarded_pairs(forwarded),
        )

    def _to_undecided_pairs(
        self, pairs_by_file: Mapping[str, Pairs], matches: Pairs
    ) -> UndecidedPairs:
        """Return the undecided pairs of all segments, without those of dead subscriptions.

        Args:
            pairs_by_file: for each segment, undecided pairs of an event and the row of a region.
            matches: pairs that are matches; they are left out.
        """
        parts: list[tuple[Rows, Rows]] = []
        conditions: list[RaggedArray] = []
        vocabularies: list[TokenVocabulary] = []
        condition_count = 0
        for segment, first_row in zip(self.live_segments, self._first_rows.tolist(), strict=False):
            pairs, subscriptions = pairs_by_file[segment.file], segment.subscriptions
            vocabulary = subscriptions.index.late_vocabulary
            if not len(pairs) or vocabulary is None:
                continue
            subscription_rows = subscriptions.to_subscription_rows(pairs)
            is_live = ~segment.tombstones.is_dead(subscription_rows)
            region_rows = pairs.stored_rows[is_live].astype(np.int64)
            numbers = subscriptions.index.take_late_conditions(region_rows)
            conditions.append(RaggedArray(numbers.offsets, numbers.values + condition_count))
            parts.append((pairs.query_rows[is_live], subscription_rows[is_live] + first_row))
            vocabularies.append(vocabulary)
            condition_count += len(vocabulary.tokens)
        if not parts:
            return _NO_UNDECIDED_PAIRS
        query_rows, stored_rows = map(np.concatenate, zip(*parts, strict=True))
        all_conditions = RaggedArray.concat(conditions)
        starts: NDArray[np.int64] = np.arange(len(query_rows) + 1)
        if len(parts) > 1 or not self._has_one_region_each:
            order, starts = self._group_regions(query_rows, stored_rows, matches)
            query_rows, stored_rows = (
                query_rows[order][starts[:-1]],
                stored_rows[order][starts[:-1]],
            )
            all_conditions = all_conditions.take(order)
        return UndecidedPairs(query_rows, stored_rows, starts, all_conditions, tuple(vocabularies))

    def _group_regions(
        self, query_rows: Rows, stored_rows: Rows, matches: Pairs
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the order in which regions of the same pair follow one another, and their starts.

        Regions of pairs that are among the matches are left out. The starts end with the number of
        regions in the order.
        """
        width = int(self._first_rows[-1])
        is_match = np.isin(
            query_rows.astype(np.int64) * width + stored_rows,
            matches.query_rows.astype(np.int64) * width + matches.stored_rows,
        )
        order = np.flatnonzero(~is_match)
        order = order[np.lexsort((stored_rows[order], query_rows[order]))]
        is_new = np.diff(query_rows[order]) != 0
        is_new |= np.diff(stored_rows[order]) != 0
        starts = np.flatnonzero(np.r_[True, is_new][: len(order)])
        return order, np.r_[starts, len(order)]

    @property
    def _has_one_region_each(self) -> bool:
        """Whether every subscription has exactly one region."""
        return all(part.subscriptions.subscription_rows is None for part in self.live_segments)

    @check_arguments
    def match_ids(self, events: Events, *, max_pairs: int | None = None) -> IdMatches:
        """Return the result of `match` with the ids of subscriptions instead of their rows."""
        if self.manifest.id_kind is IdKind.NUMBER and len(self.live_segments) == 1:
            (segment,) = self.live_segments
            is_plain = (
                not segment.tombstones.dead_count
                and segment.subscriptions.forward_to is None
                and not segment.subscriptions.index.has_late_conditions
            )
            keys = segment.subscriptions.keys_by_ordinal() if is_plain else None
            if keys is not None:  # the usual case: the index returns ids directly
                result = segment.subscriptions.index.match_values(events, keys, max_pairs=max_pairs)
                ids = pa.array(result.stored_rows)
                return IdMatches(
                    result.query_rows, ids, result.candidates, NO_PAIRS, _NO_UNDECIDED_PAIRS,
                    ids.slice(0, 0),
                )  # fmt: skip
        matches = self.match(events, max_pairs=max_pairs)
        return IdMatches(
            matches.query_rows,
            self.take_ids(matches.stored_rows),
            matches.candidates,
            matches.forwarded_pairs,
            matches.undecided,
            self.take_ids(matches.undecided.stored_rows),
        )

    @check_arguments
    def find_covering(self, regions: Regions) -> Pairs:
        """Return pairs of a query region and a subscription that has a region covering it.

        Each pair occurs once. Query rows are rows of `regions`; stored rows are subscription rows.
        """
        return self._query_segments(lambda part: part.subscriptions.index.find_covering(regions))

    @check_arguments
    def find_overlapping(self, regions: Regions) -> Pairs:
        """Return pairs of a query region and a subscription that has a region overlapping it.

        Each pair occurs once. Query rows are rows of `regions`; stored rows are subscription rows.
        """
        return self._query_segments(lambda part: part.subscriptions.index.find_overlapping(regions))

    @check_arguments
    def find_covered(self, regions: Regions) -> Pairs:
        """Return pairs of a query region and a subscription whose regions all lie within it.

        The query region covers each region of the subscription. Subscriptions without a region are
        not in the result. Each pair occurs once. Query rows are rows of `regions`; stored rows are
        subscription rows.
        """
        segment_pairs = []
        for segment, first_row in zip(self.live_segments, self._first_rows.tolist(), strict=False):
            live_pairs = concat_live_pairs(
                [segment.to_segment_pairs(segment.subscriptions.index.find_covered(regions), 0)]
            )
            distinct, counts = _count_distinct_pairs(
                Pairs.from_unsorted(live_pairs.query_rows, live_pairs.stored_rows)
            )
            is_complete = counts == segment.subscriptions.count_regions(distinct.stored_rows)
            segment_pairs.append(
                (
                    distinct.query_rows[is_complete],
                    distinct.stored_rows[is_complete],
                    NO_TOMBSTONES,
                    first_row,
                )
            )
        return concat_live_pairs(segment_pairs)

    @check_arguments
    def find_expired(self, attribute: str, before_key: int) -> Rows:
        """Return the rows of subscriptions whose regions all end before a key of an attribute.

        Events with this key, a later key or null match none of these subscriptions. A region that
        admits null, or that leaves the attribute free, does not end. A subscription without a
        region is not in the result.

        Args:
            attribute: name of a scalar attribute with keys of 64 bits.
            before_key: a key of the attribute, as in `covey.space.keys`; for a timestamp, the
                microseconds since 1970.

        Returns:
            Row numbers of subscriptions, ascending.

        Raises:
            SchemaError: if the attribute is unknown, or its keys are not integers of 64 bits.

        Cost: that of `find_covered` with one region. A million boxes in five attributes take 10 to
        20 ms if few have ended, 0.1 s if 100,000 have, and 0.7 s if 900,000 have.
        """
        expired_region = region_expired_before(self.space, attribute, index(before_key))
        return np.sort(self.find_covered(expired_region).stored_rows)

    @check_arguments
    def take_ids(self, rows: Rows) -> pa.Array:
        """Return the ids of the subscriptions at `rows`: int64, or text as `large_string`."""
        check_rows("rows", rows, int(self._first_rows[-1]))
        if len(self.live_segments) == 1:
            return self.live_segments[0].subscriptions.ids.values.take(pa.array(rows))
        segment_numbers = np.searchsorted(self._first_rows, rows, "right") - 1
        segment_ids, positions = (
            [Ids.from_values([], self.manifest.id_kind).values],
            [np.empty(0, np.int64)],
        )
        for i, segment in enumerate(self.live_segments):
            segment_positions = np.flatnonzero(segment_numbers == i)
            segment_ids.append(
                segment.subscriptions.ids.values.take(
                    pa.array(rows[segment_positions] - self._first_rows[i])
                )
            )
            positions.append(segment_positions)
        order = np.empty(len(rows), np.int64)
        order[np.concatenate(positions)] = np.arange(len(rows))
        return pa.concat_arrays(segment_ids).take(pa.array(order))

    def find_rows(self, ids: object) -> Rows:
        """Return the row of the live subscription with each id, or -1 if there is none."""
        query_ids = Ids.from_values(ids, self.manifest.id_kind)
        rows = np.full(len(query_ids), -1, np.int64)
        for segment, first_row in zip(self.live_segments, self._first_rows, strict=False):
            segment_rows = segment.find_rows(query_ids)
            rows = np.where(segment_rows >= 0, segment_rows + first_row, rows)
        return rows

    @check_arguments
    def take_revisions(self, rows: Rows) -> Rows:
        """Return the revision with which the subscription at each row was stored.

        The revision is 0 for a subscription that was stored without a revision, and for row -1,
        which `find_rows` returns for an unknown id.

        Cost: some nanoseconds per row and segment.
        """
        check_rows("rows", rows, int(self._first_rows[-1]), first=-1)
        revisions = np.zeros(len(rows), np.int64)
        segment_numbers = np.searchsorted(self._first_rows, rows, "right") - 1
        for i, segment in enumerate(self.live_segments):
            segment_positions = np.flatnonzero(segment_numbers == i)
            revisions[segment_positions] = segment.subscriptions.take_revisions(
                rows[segment_positions] - self._first_rows[i]
            )
        return revisions

    @property
    def rows(self) -> Rows:
        """Rows of all live subscriptions, ascending."""
        starts = self._first_rows
        live = [
            p.tombstones.live_rows + s for p, s in zip(self.live_segments, starts, strict=False)
        ]
        return np.concatenate([np.empty(0, np.int64), *live])

    @check_arguments
    def take_regions(self, rows: Rows) -> tuple[Regions, Rows]:
        """Return the regions of the subscriptions at `rows`, and which region belongs to which row.

        Returns:
            The regions, and for each region the position in `rows` of its subscription. The regions
            are grouped by segment, so the positions are not ascending in general.
        """
        check_rows("rows", rows, int(self._first_rows[-1]))
        segment_numbers = np.searchsorted(self._first_rows, rows, "right") - 1
        regions, positions = [Regions(self.space, 0, {})], [np.empty(0, np.int64)]
        for i, segment in enumerate(self.live_segments):
            segment_positions = np.flatnonzero(segment_numbers == i)
            batch: SubscriptionBatch = segment.subscriptions.take(
                rows[segment_positions] - self._first_rows[i]
            )
            regions.append(batch.regions)
            positions.append(segment_positions[batch.subscription_rows])
        return Regions.concat(regions), np.concatenate(positions)

    @property
    def _first_rows(self) -> Rows:
        """First row of each segment, followed by the total number of rows, dead ones included."""
        return np.cumsum([0, *(len(segment.subscriptions) for segment in self.live_segments)])

    def _query_segments(self, query_segment: Callable[[LiveSegment], Pairs]) -> Pairs:
        """Query each segment, and return pairs of a query row and the row of a live subscription.

        Each pair occurs once. `query_segment` returns pairs of a query row and a region row of the
        segment.
        """
        segments_with_first_rows = zip(self.live_segments, self._first_rows.tolist(), strict=False)
        pairs = concat_live_pairs(
            [
                segment.to_segment_pairs(query_segment(segment), first_row)
                for segment, first_row in segments_with_first_rows
            ]
        )
        return (
            pairs
            if self._has_one_region_each
            else Pairs.from_unsorted(pairs.query_rows, pairs.stored_rows).drop_duplicates()
        )


def _forward_pairs(subscriptions: IndexedSubscriptions, matched_pairs: Pairs) -> Pairs:
    """Return pairs of an event row and a zone to which the event is forwarded.

    `matched_pairs` are pairs of an event row and a region row. Dead subscriptions forward as well.
    """
    assert subscriptions.forward_to is not None
    value_rows, pair_rows = subscriptions.forward_to.flat_indices(
        subscriptions.to_subscription_rows(matched_pairs).astype(np.int64)
    )
    return Pairs(matched_pairs.query_rows[pair_rows], subscriptions.forward_to.values[value_rows])


def _concat_forwarded_pairs(forwarded_pairs: Sequence[Pairs]) -> Pairs:
    """Return the forwarded pairs of several segments as one, each pair once."""
    if not forwarded_pairs:
        return NO_PAIRS
    return Pairs.from_unsorted(
        np.concatenate([pairs.query_rows for pairs in forwarded_pairs]),
        np.concatenate([pairs.stored_rows for pairs in forwarded_pairs]),
    ).drop_duplicates()


def _count_distinct_pairs(pairs: Pairs) -> tuple[Pairs, Rows]:
    """Return the distinct pairs, and how often each occurs; the input pairs must be sorted."""
    changes = (np.diff(pairs.query_rows) != 0) | (np.diff(pairs.stored_rows) != 0)
    starts = np.flatnonzero(np.r_[True, changes][: len(pairs)])
    counts = np.diff(np.r_[starts, len(pairs)])
    return Pairs(pairs.query_rows[starts], pairs.stored_rows[starts]), counts
