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

from covey._argument_checks import check_arguments, check_rows
from covey.errors import InvalidArgumentError
from covey.geometry import Regions
from covey.geometry.relations import check_same_types, covers, overlaps
from covey.index.kernels.pair_grouping import write_pairs
from covey.index.kernels.tree_search import match_leaves, match_leaves_limited, verify_boxes
from covey.index.protocol import MatchResult, Pairs
from covey.index.segment.build.builder import build_segment_data
from covey.index.segment.build.shared_codebooks import SharedCodebooks
from covey.index.segment.data import SegmentData, reconstruct_regions
from covey.index.segment.query.encoded_query import EncodedQuery
from covey.index.segment.query.pair_buffer import collect_pairs
from covey.index.segment.serialization import pack_segment, unpack_segment
from covey.space import Events, Space

__all__ = ["SegmentIndex"]

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
_EVENTS_PER_BATCH = 1 << 15  # events that go down the tree together
_MAX_UNROLLED_WORDS = 2  # of four codes each: for these the kernel is compiled
_REGIONS_PER_BATCH = 1 << 10  # regions, which may meet many


@dataclass(frozen=True, slots=True)
class SegmentIndex:
    """An index of n regions.

    Guarantee: every answer is that of `BruteForceIndex`. Cost: `match` and `find_covering` grow
    slower than the number of regions as long as constraints tell them apart.
    """

    space: Space
    data: SegmentData
    _shared_codebooks: SharedCodebooks | None = field(default=None, repr=False, compare=False)
    _ordinals_by_row: list[NDArray[np.int32]] = field(
        default_factory=list, repr=False, compare=False
    )

    @classmethod
    @check_arguments
    def build(
        cls,
        regions: Regions,
        sample: Events | None = None,
        *,
        shared_codebooks: SharedCodebooks | None = None,
    ) -> SegmentIndex:
        """An index of all these regions, by their row numbers.

        A sample of events, some thousands, makes it faster for events like them. Segments that are
        built with the same `shared_codebooks` find covers faster where all of them are asked for
        those of the same regions.
        """
        data = build_segment_data(
            regions, sample, SharedCodebooks() if shared_codebooks is None else shared_codebooks
        )
        return cls(regions.space, data, None if data.vocabularies else shared_codebooks)

    @classmethod
    @check_arguments
    def from_arrays(cls, space: Space, arrays: Mapping[str, NDArray[Any]]) -> SegmentIndex:
        """The segment that `to_arrays` took apart, in the space of its regions."""
        try:
            return cls(space, unpack_segment(space, arrays))
        except KeyError as missing:
            raise InvalidArgumentError(
                f"the arrays are not those of to_arrays: {missing} is missing"
            ) from None

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """All that it is made of, but for its space, as arrays of numbers."""
        return pack_segment(self.data)

    def __len__(self) -> int:
        return len(self.data.stored_rows)

    @property
    def stored_rows(self) -> NDArray[np.int32]:
        """The row number of the region at each ordinal; near regions are together."""
        return self.data.stored_rows

    @property
    def constrained_attributes(self) -> set[str]:
        """The attributes that some region constrains."""
        data = self.data
        kinds = (data.columns, data.ball_indexes, data.residuals)
        return {part.name for kind in kinds for part in kind} | set(data.vocabularies)

    @check_arguments
    def arrange_by_ordinal(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values of stored regions, by row, in the order that `match_values` takes."""
        _check_one_each(values, len(self))
        return values[self.data.stored_rows]

    @check_arguments
    def match(
        self,
        events: Events,
        *,
        max_pairs: int | None = None,
    ) -> MatchResult:
        """Return the stored regions that contain each event.

        With many more than `max_pairs` pairs in a portion of the events it raises
        `ResultTooLargeError` while searching: give fewer events at once. One event alone is always
        answered. Candidates are counted before residual constraints are verified.
        """
        return self.match_values(events, self.data.stored_rows, max_pairs=max_pairs)

    @check_arguments
    def match_values(
        self, events: Events, values_by_ordinal: NDArray[Any], *, max_pairs: int | None = None
    ) -> MatchResult:
        """Return what `match` does, with a value of each stored region instead of its row.

        Values come from `arrange_by_ordinal`; that costs less than to look them up afterwards.
        """
        _check_one_each(values_by_ordinal, len(self))
        if len(events) <= _EVENTS_PER_BATCH:
            return self._match_batch(events, max_pairs, values_by_ordinal)
        starts = range(0, len(events), _EVENTS_PER_BATCH)
        portions = [
            np.arange(start, min(start + _EVENTS_PER_BATCH, len(events))) for start in starts
        ]
        found = [
            self._match_batch(events.take(rows), max_pairs, values_by_ordinal) for rows in portions
        ]
        return MatchResult(
            np.concatenate([p.query_rows + start for p, start in zip(found, starts, strict=True)]),
            np.concatenate([pairs.stored_rows for pairs in found]),
            sum(pairs.candidates for pairs in found),
        )

    def _match_batch(
        self, events: Events, max_pairs: int | None, values_by_ordinal: NDArray[Any]
    ) -> MatchResult:
        """Match few enough events to bound the memory that is taken."""
        self._check_types(events.space)
        query = EncodedQuery.from_events(events, self.data.columns, self.data.vocabularies)
        max_pairs = None if len(events) == 1 else max_pairs
        query_rows, ordinals = self._find_containing(query, max_pairs=max_pairs)
        for ball_index in self.data.ball_indexes:
            query_rows, ordinals = self._append_verified(
                query, query_rows, ordinals, *ball_index.match(events, max_pairs=max_pairs)
            )
        candidates = len(query_rows)
        if self.data.residuals:
            kept = self._is_exact(ordinals)
            doubt = np.flatnonzero(~kept)
            kept[doubt] = self._residuals_admit(events, query, query_rows[doubt], ordinals[doubt])
            query_rows, ordinals = query_rows[kept], ordinals[kept]
        pairs = self._group_by_query(len(events), query_rows, ordinals, values_by_ordinal)
        return MatchResult(pairs.query_rows, pairs.stored_rows, candidates)

    @check_arguments
    def find_covering(self, regions: Regions, *, limit: int | None = None) -> Pairs:
        """Stored regions that cover each given one; with a limit, some of them."""
        self._check_types(regions.space)
        if self._shared_codebooks is None:
            query = EncodedQuery.from_regions(regions, self.data.columns, self.data.vocabularies)
        else:
            query = self._shared_codebooks.encode(regions, self.data.columns)
        query_rows, ordinals = self._find_containing(query, limit)
        for ball_index in self.data.ball_indexes:
            query_rows, ordinals = self._append_verified(
                query, query_rows, ordinals, *ball_index.propose_covering(regions)
            )
        if self.data.residuals or self.data.ball_indexes:
            kept = self._is_exact(ordinals)
            doubt = np.flatnonzero(~kept)
            stored, at = reconstruct_regions(self.space, self.data, ordinals[doubt])
            kept[doubt] = covers(stored, at, regions, query_rows[doubt])
            query_rows, ordinals = query_rows[kept], ordinals[kept]
        pairs = self._group_by_query(len(regions), query_rows, ordinals)
        return pairs if limit is None else pairs.limit_per_query(limit)

    @check_arguments
    def find_covered(self, regions: Regions) -> Pairs:
        """Stored regions that each given one covers."""
        query_rows, ordinals = self._find_meeting(regions, only_inside=True)
        stored, at = reconstruct_regions(self.space, self.data, ordinals)
        kept = covers(regions, query_rows, stored, at)
        return self._group_by_query(len(regions), query_rows[kept], ordinals[kept])

    @check_arguments
    def find_overlapping(self, regions: Regions) -> Pairs:
        """Stored regions that have an event in common with each given one."""
        query_rows, ordinals = self._find_meeting(regions, only_inside=False)
        stored, at = reconstruct_regions(self.space, self.data, ordinals)
        kept = overlaps(regions, query_rows, stored, at)
        return self._group_by_query(len(regions), query_rows[kept], ordinals[kept])

    @check_arguments
    def reconstruct_regions(self, rows: Ints) -> Regions:
        """The given rows as regions again, in the given order.

        The first call finds the ordinal of every row, and keeps it: 4 bytes a region.
        """
        check_rows("rows", rows, len(self))
        if not self._ordinals_by_row:
            ordinals = np.empty(len(self), np.int32)
            ordinals[self.data.stored_rows] = np.arange(len(self), dtype=np.int32)
            self._ordinals_by_row.append(ordinals)
        stored, at = reconstruct_regions(
            self.space, self.data, self._ordinals_by_row[0][rows].astype(np.int64)
        )
        return stored.take(at)

    def _check_types(self, space: Space) -> None:
        """Raises where an attribute that is constrained has another type in another space."""
        if space is not self.space:
            names = [column.name for column in self.data.columns]
            names += [ball_index.name for ball_index in self.data.ball_indexes]
            names += [residual.name for residual in self.data.residuals]
            check_same_types(Regions(self.space, 0, {}), space, names)

    def _find_containing(
        self, query: EncodedQuery, limit: int | None = None, max_pairs: int | None = None
    ) -> tuple[Any, Any]:
        """Query rows and the ordinals of boxes in the tree that contain both of their corners.

        All of them, or with a limit enough of them.
        """
        if not len(self) or not len(query.low):
            return np.empty(0, np.int32), np.empty(0, np.int32)
        high = None if query.high is query.low else query.high
        starts, rows = self.data.tree.find_leaves(query.low, high, max_pairs=max_pairs)
        leaves = self.data.tree.levels[-1]
        down = (query.low, high, rows, starts, *leaves)
        if limit is None:
            words = query.low.shape[1] // 4
            fours = tuple(range(words)) if words <= _MAX_UNROLLED_WORDS else ()
            more = (fours, *self._box_arguments(query))
            ordinals, rows = collect_pairs(
                match_leaves,
                len(leaves.children) - 1,
                down,
                more_arguments=more,
                max_pairs=max_pairs,
            )
        else:
            left = np.full(len(query.low_keys), min(limit, len(self)), np.int32)
            more = (*self._box_arguments(query), self.data.exact_bits, left)
            ordinals, rows = collect_pairs(
                match_leaves_limited, len(leaves.children) - 1, down, more_arguments=more
            )
        has_token_rows = len(query.query_rows) > len(query.low_keys)
        return query.query_rows[rows] if has_token_rows else rows, ordinals

    def _append_verified(
        self,
        query: EncodedQuery,
        query_rows: Any,
        ordinals: Any,
        more_query_rows: Ints,
        more_ordinals: Ints,
    ) -> tuple[Any, Any]:
        """Pairs, and more of them as far as their boxes contain both corners too."""
        high = None if query.high is query.low else query.high
        rows, others = more_query_rows.astype(np.int32), more_ordinals.astype(np.int32)
        kept = verify_boxes(rows, others, query.low, high, *self._box_arguments(query))
        return np.concatenate([query_rows, rows[kept]]), np.concatenate([ordinals, others[kept]])

    def _box_arguments(self, query: EncodedQuery) -> tuple[Any, ...]:
        """What kernels compare: corners and boxes, codes and originals."""
        boxes = self.data.boxes
        return (
            query.low.view(np.uint64), query.high.view(np.uint64), query.query_rows, query.low_keys,
            query.high_keys, boxes.codes, boxes.codes.view(np.uint64), boxes.ends, boxes.starts,
            boxes.sparse, boxes.odd, boxes.before,
        )  # fmt: skip

    def _is_exact(self, ordinals: NDArray[np.int32]) -> Bools:
        """Whether boxes say all of the regions at these ordinals."""
        bits = self.data.exact_bits[ordinals >> 6] >> (ordinals & 63).astype(np.uint64)
        exact: Bools = (bits & np.uint64(1)).astype(np.bool_)
        return exact

    def _residuals_admit(
        self, events: Events, query: EncodedQuery, query_rows: Any, ordinals: Any
    ) -> Bools:
        """Whether the residual constraints of the region at each ordinal admit an event."""
        kept = np.ones(len(query_rows), np.bool_)
        for residual in self.data.residuals:
            left = np.flatnonzero(kept)
            kept[left] = residual.admits(events, query, query_rows[left], ordinals[left])
        return kept

    def _group_by_query(
        self,
        query_count: int,
        query_rows: Any,
        ordinals: Any,
        values_by_ordinal: NDArray[Any] | None = None,
    ) -> Pairs:
        """Pairs by query row, from ordinals in any order."""
        values = self.data.stored_rows if values_by_ordinal is None else values_by_ordinal
        pair_query_rows = np.empty(len(ordinals), np.int32)
        pair_values = np.empty(len(ordinals), values.dtype)
        write_pairs(query_rows, ordinals, values, query_count, pair_query_rows, pair_values)
        return Pairs(pair_query_rows, pair_values)

    def _find_meeting(self, regions: Regions, only_inside: bool) -> tuple[Ints, Ints]:
        """Rows of regions and the ordinals of boxes that overlap them, or that are inside."""
        self._check_types(regions.space)
        pairs = [(np.empty(0, np.int64), np.empty(0, np.int64))]
        for start in range(0, len(regions) if len(self) else 0, _REGIONS_PER_BATCH):
            rows = np.arange(start, min(start + _REGIONS_PER_BATCH, len(regions)))
            batch = regions.take(rows)
            query = EncodedQuery.from_regions(
                batch, self.data.columns, {}, any_token=bool(self.data.vocabularies)
            )
            starts, query_rows = self.data.tree.find_overlapping_boxes(query.low, query.high)
            ordinals = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
            pairs.append(self._filter_meeting(query, rows, query_rows, ordinals, only_inside))
            for ball_index in self.data.ball_indexes:
                for row in range(len(rows)):
                    ordinals = ball_index.propose_overlapping(batch, row)
                    query_rows = np.full(len(ordinals), row, np.int32)
                    pairs.append(
                        self._filter_meeting(query, rows, query_rows, ordinals, only_inside)
                    )
        return np.concatenate([o for o, _ in pairs]), np.concatenate([p for _, p in pairs])

    def _filter_meeting(
        self,
        query: EncodedQuery,
        rows: Ints,
        query_rows: NDArray[np.int32],
        ordinals: Ints,
        only_inside: bool,
    ) -> tuple[Ints, Ints]:
        """The pairs whose codes have something in common, or of which one has the other inside."""
        lower, upper = np.split(self.data.boxes.codes[ordinals], 2, axis=1)
        low, high = query.low[query_rows], query.high[query_rows]
        kept = (low <= upper) & (lower <= high)
        if only_inside:
            columns = len(self.data.columns)
            kept[:, :columns] &= ((low <= lower) & (upper <= high))[:, :columns]
        chosen = np.flatnonzero(kept.all(axis=1))
        return rows[query_rows[chosen]], ordinals[chosen]


def _check_one_each(values: NDArray[Any], region_count: int) -> None:
    """Raise for values that are not one for each region."""
    if values.shape != (region_count,):
        raise InvalidArgumentError(
            f"values must be one for each of {region_count} regions, got shape {values.shape}"
        )
