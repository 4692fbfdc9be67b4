"""The segment index: an exact, immutable index of any mix of intervals, lists, tags and balls.

Intervals are encoded as boxes of codes, which a tree of bitmaps finds. A region may be found by the
rarest token that it requires; this token is one more attribute of the tree. A region with a single
ball is found by clusters of balls. Constraints that boxes cannot express are verified on the
candidates.
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
from covey.geometry.tags import Tags
from covey.index.kernels.pair_grouping import write_pairs
from covey.index.kernels.tree_search import match_leaves, match_leaves_limited, verify_boxes
from covey.index.protocol import NO_PAIRS, MatchResult, Pairs
from covey.index.segment.build.builder import build_segment_data
from covey.index.segment.build.shared_codebooks import SharedCodebooks
from covey.index.segment.data import SegmentData, reconstruct_regions
from covey.index.segment.query.encoded_query import EncodedQuery
from covey.index.segment.query.pair_buffer import collect_pairs
from covey.index.segment.query.residuals import ResidualConstraints
from covey.index.segment.serialization import pack_segment, unpack_segment
from covey.index.segment.token_vocabulary import TokenVocabulary
from covey.space import Events, Space
from covey.space.ragged_array import RaggedArray
from covey.space.space import LATE

__all__ = ["SegmentIndex"]

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
_EVENTS_PER_BATCH = 1 << 15  # events that descend the tree together
_MAX_UNROLLED_WORDS = 2  # words of four codes; the kernel is compiled for each number up to this
_REGIONS_PER_BATCH = 1 << 10  # fewer than events, because a region may meet many boxes


@dataclass(frozen=True, slots=True)
class SegmentIndex:
    """Immutable index of regions, which consists of plain arrays.

    Guarantee: every query returns the same pairs as `BruteForceIndex`; with a limit, it may return
    other covers.

    Cost: the time of `match` and `find_covering` grows more slowly than the number of regions,
    unless many regions have nearly the same constraints.
    """

    space: Space
    data: SegmentData
    _shared_codebooks: SharedCodebooks | None = field(default=None, repr=False, compare=False)
    _ordinals_by_row: list[NDArray[np.int32]] = field(
        default_factory=list, repr=False, compare=False
    )
    _checked_space: list[Space] = field(default_factory=list, init=False, repr=False, compare=False)
    _event_vocabularies: dict[str, TokenVocabulary] = field(init=False, repr=False, compare=False)
    _event_residuals: list[ResidualConstraints] = field(init=False, repr=False, compare=False)
    _late_conditions: ResidualConstraints | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_event_vocabularies", self.data.event_vocabularies)
        object.__setattr__(self, "_event_residuals", self.data.event_residuals)
        object.__setattr__(self, "_late_conditions", self.data.late_conditions)

    @classmethod
    @check_arguments
    def build(
        cls,
        regions: Regions,
        sample: Events | None = None,
        *,
        shared_codebooks: SharedCodebooks | None = None,
    ) -> SegmentIndex:
        """Build an index of regions, which are stored under their row numbers.

        Args:
            regions: the regions to store.
            sample: some thousands of events, to make the index faster for similar events.
            shared_codebooks: codebooks that several segments share. If these segments are queried
                with the same regions, `find_covering` is faster.
        """
        data = build_segment_data(
            regions, sample, SharedCodebooks() if shared_codebooks is None else shared_codebooks
        )
        return cls(regions.space, data, None if data.vocabularies else shared_codebooks)

    @classmethod
    @check_arguments
    def from_arrays(cls, space: Space, arrays: Mapping[str, NDArray[Any]]) -> SegmentIndex:
        """Return the segment that `to_arrays` turned into arrays.

        Args:
            space: the space of the stored regions.
            arrays: arrays by name, which may be read-only memory maps; large ones are not copied.

        Raises:
            InvalidArgumentError: if an array is missing.
        """
        try:
            return cls(space, unpack_segment(space, arrays))
        except KeyError as missing:
            raise InvalidArgumentError(
                f"array {missing} is missing: arrays must be the result of to_arrays"
            ) from None

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the segment as named arrays of numbers; the space is not included."""
        return pack_segment(self.data)

    def __len__(self) -> int:
        return len(self.data.stored_rows)

    @property
    def stored_rows(self) -> NDArray[np.int32]:
        """Row number of the region at each ordinal; similar regions have neighbouring ordinals."""
        return self.data.stored_rows

    @property
    def constrained_attributes(self) -> set[str]:
        """Names of the attributes that at least one region constrains, without `LATE`."""
        data = self.data
        groups = (data.columns, data.ball_indexes, data.residuals)
        names = {item.name for group in groups for item in group} | set(data.vocabularies)
        return names - {LATE}

    @check_arguments
    def arrange_by_ordinal(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return values of stored regions in the order of ordinals.

        `values[i]` is the value of the region with stored row i.
        """
        _check_one_each("values", values, len(self))
        return values[self.data.stored_rows]

    @check_arguments
    def match(
        self,
        events: Events,
        *,
        max_pairs: int | None = None,
    ) -> MatchResult:
        """Return for each event the stored regions that contain it.

        A region with late conditions is in `undecided` of the result, not among its pairs.
        `candidates` is the number of pairs before residual constraints are verified.

        Args:
            events: a batch of events.
            max_pairs: approximate limit of the number of pairs for a portion of at most 32,768
                events; None for no limit. It is ignored for a batch of one event.

        Raises:
            ResultTooLargeError: if the search finds more than `max_pairs` pairs. Then match fewer
                events at once.
            SchemaError: if the events lack an attribute that a stored region constrains, or have it
                with another type.
        """
        return self._match_values(events, self.data.stored_rows, max_pairs)

    @check_arguments
    def match_values(
        self, events: Events, values_by_ordinal: NDArray[Any], *, max_pairs: int | None = None
    ) -> MatchResult:
        """Return the result of `match`, with a value of each stored region instead of its row.

        The values are in `stored_rows` of the result. This is cheaper than looking up values for
        the result of `match`.

        Args:
            events: a batch of events.
            values_by_ordinal: one value for each stored region, from `arrange_by_ordinal`.
            max_pairs: as in `match`.
        """
        _check_one_each("values_by_ordinal", values_by_ordinal, len(self))
        return self._match_values(events, values_by_ordinal, max_pairs)

    def _match_values(
        self, events: Events, values_by_ordinal: NDArray[Any], max_pairs: int | None
    ) -> MatchResult:
        """Return the result of `match_values`."""
        if len(events) <= _EVENTS_PER_BATCH:
            return self._match_batch(events, max_pairs, values_by_ordinal)
        starts = range(0, len(events), _EVENTS_PER_BATCH)
        portions = [
            np.arange(start, min(start + _EVENTS_PER_BATCH, len(events))) for start in starts
        ]
        results = [
            self._match_batch(events.take(rows), max_pairs, values_by_ordinal) for rows in portions
        ]
        return MatchResult(
            np.concatenate(
                [pairs.query_rows + start for pairs, start in zip(results, starts, strict=True)]
            ),
            np.concatenate([pairs.stored_rows for pairs in results]),
            sum(pairs.candidates for pairs in results),
            Pairs(
                np.concatenate(
                    [
                        pairs.undecided.query_rows + start
                        for pairs, start in zip(results, starts, strict=True)
                    ]
                ),
                np.concatenate([pairs.undecided.stored_rows for pairs in results]),
            ),
        )

    def _match_batch(
        self, events: Events, max_pairs: int | None, values_by_ordinal: NDArray[Any]
    ) -> MatchResult:
        """Return the result of `match_values` for at most `_EVENTS_PER_BATCH` events."""
        self._check_types(events.space)
        query = EncodedQuery.from_events(events, self.data.columns, self._event_vocabularies)
        max_pairs = None if len(events) == 1 else max_pairs
        query_rows, ordinals = self._find_containing(query, max_pairs=max_pairs)
        for ball_index in self.data.ball_indexes:
            query_rows, ordinals = self._append_verified(
                query, query_rows, ordinals, *ball_index.match(events, max_pairs=max_pairs)
            )
        candidates = len(query_rows)
        undecided = NO_PAIRS
        if self.data.residuals:
            is_match = self._is_exact(ordinals)
            inexact = np.flatnonzero(~is_match)
            is_match[inexact] = self._residuals_admit(
                events, query, query_rows[inexact], ordinals[inexact]
            )
            if self._late_conditions is not None:
                inexact = inexact[is_match[inexact]]
                _, is_late = self._late_conditions.constraints.locate_rows(ordinals[inexact])
                late = inexact[is_late]
                undecided = self._group_by_query(
                    len(events), query_rows[late], ordinals[late], values_by_ordinal
                )
                is_match[late] = False
            query_rows, ordinals = query_rows[is_match], ordinals[is_match]
        pairs = self._group_by_query(len(events), query_rows, ordinals, values_by_ordinal)
        return MatchResult(pairs.query_rows, pairs.stored_rows, candidates, undecided)

    @check_arguments
    def find_covering(self, regions: Regions, *, limit: int | None = None) -> Pairs:
        """Return for each query region the stored regions that cover it, at most `limit`."""
        self._check_types(regions.space)
        if self._shared_codebooks is None:
            query = EncodedQuery.from_regions(regions, self.data.columns, self._event_vocabularies)
        else:
            query = self._shared_codebooks.encode(regions, self.data.columns)
        query_rows, ordinals = self._find_containing(query, limit)
        for ball_index in self.data.ball_indexes:
            query_rows, ordinals = self._append_verified(
                query, query_rows, ordinals, *ball_index.propose_covering(regions)
            )
        if self.data.residuals or self.data.ball_indexes:
            is_cover = self._is_exact(ordinals)
            inexact = np.flatnonzero(~is_cover)
            stored, region_rows = reconstruct_regions(self.space, self.data, ordinals[inexact])
            is_cover[inexact] = covers(stored, region_rows, regions, query_rows[inexact])
            query_rows, ordinals = query_rows[is_cover], ordinals[is_cover]
        pairs = self._group_by_query(len(regions), query_rows, ordinals)
        return pairs if limit is None else pairs.limit_per_query(limit)

    @check_arguments
    def find_covered(self, regions: Regions) -> Pairs:
        """Return for each query region the stored regions that it covers."""
        query_rows, ordinals = self._find_meeting(regions, only_inside=True)
        stored, region_rows = reconstruct_regions(self.space, self.data, ordinals)
        is_covered = covers(regions, query_rows, stored, region_rows)
        return self._group_by_query(len(regions), query_rows[is_covered], ordinals[is_covered])

    @check_arguments
    def find_overlapping(self, regions: Regions) -> Pairs:
        """Return for each query region the stored regions that overlap it."""
        query_rows, ordinals = self._find_meeting(regions, only_inside=False)
        stored, region_rows = reconstruct_regions(self.space, self.data, ordinals)
        is_overlapping = overlaps(regions, query_rows, stored, region_rows)
        return self._group_by_query(
            len(regions), query_rows[is_overlapping], ordinals[is_overlapping]
        )

    @check_arguments
    def reconstruct_regions(self, rows: Ints) -> Regions:
        """Return the stored regions at `rows`, in that order.

        The first call computes the ordinals of all rows and caches them: 4 bytes per region.
        """
        check_rows("rows", rows, len(self))
        ordinals = self._find_ordinals(rows)
        stored, row_of_ordinal = reconstruct_regions(self.space, self.data, ordinals)
        return stored.take(row_of_ordinal)

    @property
    def has_late_conditions(self) -> bool:
        """Whether at least one stored region has late conditions."""
        return self._late_conditions is not None

    def count_late_conditions(self) -> tuple[Ints, Ints]:
        """Return the rows of the regions that have late conditions, unsorted, and their numbers.

        Cost: some nanoseconds for each of these regions.
        """
        if self._late_conditions is None:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        rules = self._late_conditions.constraints.batch
        assert isinstance(rules, Tags)
        ordinals = self._late_conditions.constraints.rows
        return self.data.stored_rows[ordinals].astype(np.int64), rules.groups.lengths

    @property
    def late_vocabulary(self) -> TokenVocabulary | None:
        """Vocabulary of the late conditions, or None if no stored region has one."""
        return self.data.vocabularies.get(LATE)

    @check_arguments
    def take_late_conditions(self, rows: Ints) -> RaggedArray:
        """Return the late conditions of the stored regions at `rows`.

        Every one of the regions must have late conditions. Row i of the result contains the numbers
        in `late_vocabulary` of the conditions of region `rows[i]`, all of which it requires.
        """
        check_rows("rows", rows, len(self))
        if self._late_conditions is None:
            raise InvalidArgumentError("no stored region has late conditions")
        constraints = self._late_conditions.constraints
        rules = constraints.batch
        assert isinstance(rules, Tags)
        groups = rules.groups.take(constraints.locate_rows(self._find_ordinals(rows))[0])
        # A group is a condition, because a required token is a group of its own.
        return RaggedArray(groups.offsets, rules.tokens.values[rules.tokens.offsets[groups.values]])

    def _find_ordinals(self, rows: Ints) -> Ints:
        """Return the ordinal of the region at each row."""
        if not self._ordinals_by_row:
            ordinals = np.empty(len(self), np.int32)
            ordinals[self.data.stored_rows] = np.arange(len(self), dtype=np.int32)
            self._ordinals_by_row.append(ordinals)
        return self._ordinals_by_row[0][rows].astype(np.int64)

    def _check_types(self, space: Space) -> None:
        """Raise SchemaError if a constrained attribute has another type in `space`.

        The last space without such an attribute is kept, because all events of a stream share one.
        """
        if space is not self.space and not any(space is each for each in self._checked_space):
            names = [column.name for column in self.data.columns]
            names += [ball_index.name for ball_index in self.data.ball_indexes]
            names += [residual.name for residual in self._event_residuals]
            check_same_types(Regions(self.space, 0, {}), space, names)
            self._checked_space[:] = [space]

    def _find_containing(
        self, query: EncodedQuery, limit: int | None = None, max_pairs: int | None = None
    ) -> tuple[Any, Any]:
        """Return pairs of a query row and the ordinal of a box that contains the row.

        Only boxes of the tree are searched. A box contains a query row if it contains both corners
        of the row. With a limit, no more boxes are searched for a query row once `limit` boxes that
        express their whole region are found.
        """
        if not len(self) or not len(query.low):
            return np.empty(0, np.int32), np.empty(0, np.int32)
        high = None if query.high is query.low else query.high
        starts, rows = self.data.tree.find_leaves(query.low, high, max_pairs=max_pairs)
        leaves = self.data.tree.levels[-1]
        descent_arguments = (query.low, high, rows, starts, *leaves)
        if limit is None:
            words = query.low.shape[1] // 4
            fours = tuple(range(words)) if words <= _MAX_UNROLLED_WORDS else ()
            more_arguments = (fours, *self._box_arguments(query))
            ordinals, rows = collect_pairs(
                match_leaves,
                len(leaves.children) - 1,
                descent_arguments,
                more_arguments=more_arguments,
                max_pairs=max_pairs,
            )
        else:
            remaining = np.full(len(query.low_keys), min(limit, len(self)), np.int32)
            more_arguments = (*self._box_arguments(query), self.data.exact_bits, remaining)
            ordinals, rows = collect_pairs(
                match_leaves_limited,
                len(leaves.children) - 1,
                descent_arguments,
                more_arguments=more_arguments,
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
        """Return the pairs, followed by those of the additional pairs that `verify_boxes` confirms.

        A pair is confirmed if its box contains both corners of its query row.
        """
        high = None if query.high is query.low else query.high
        new_rows, new_ordinals = more_query_rows.astype(np.int32), more_ordinals.astype(np.int32)
        is_verified = verify_boxes(
            new_rows, new_ordinals, query.low, high, *self._box_arguments(query)
        )
        return np.concatenate([query_rows, new_rows[is_verified]]), np.concatenate(
            [ordinals, new_ordinals[is_verified]]
        )

    def _box_arguments(self, query: EncodedQuery) -> tuple[Any, ...]:
        """Return the arrays that kernels compare: corners of rows and boxes, as codes and keys."""
        boxes = self.data.boxes
        return (
            query.low.view(np.uint64), query.high.view(np.uint64), query.query_rows, query.low_keys,
            query.high_keys, boxes.codes, boxes.codes.view(np.uint64), boxes.ends, boxes.starts,
            boxes.sparse, boxes.odd, boxes.before,
        )  # fmt: skip

    def _is_exact(self, ordinals: NDArray[np.int32]) -> Bools:
        """Return for each ordinal its bit in `SegmentData.exact_bits`."""
        bits = self.data.exact_bits[ordinals >> 6] >> (ordinals & 63).astype(np.uint64)
        exact: Bools = (bits & np.uint64(1)).astype(np.bool_)
        return exact

    def _residuals_admit(
        self, events: Events, query: EncodedQuery, query_rows: Any, ordinals: Any
    ) -> Bools:
        """Return for each pair whether all residual constraints of the region admit the event."""
        is_admitted = np.ones(len(query_rows), np.bool_)
        for residual in self._event_residuals:
            pending = np.flatnonzero(is_admitted)
            is_admitted[pending] = residual.admits(
                events, query, query_rows[pending], ordinals[pending]
            )
        return is_admitted

    def _group_by_query(
        self,
        query_count: int,
        query_rows: Any,
        ordinals: Any,
        values_by_ordinal: NDArray[Any] | None = None,
    ) -> Pairs:
        """Return pairs of a query row and the value at an ordinal, sorted by query row."""
        values = self.data.stored_rows if values_by_ordinal is None else values_by_ordinal
        pair_query_rows = np.empty(len(ordinals), np.int32)
        pair_values = np.empty(len(ordinals), values.dtype)
        write_pairs(query_rows, ordinals, values, query_count, pair_query_rows, pair_values)
        return Pairs(pair_query_rows, pair_values)

    def _find_meeting(self, regions: Regions, only_inside: bool) -> tuple[Ints, Ints]:
        """Return candidate pairs of a query region and the ordinal of a box that overlaps it.

        With `only_inside`, return only the pairs whose box is inside the box of the query region.
        """
        self._check_types(regions.space)
        pairs = [(np.empty(0, np.int64), np.empty(0, np.int64))]
        for start in range(0, len(regions) if len(self) else 0, _REGIONS_PER_BATCH):
            rows = np.arange(start, min(start + _REGIONS_PER_BATCH, len(regions)))
            batch = regions.take(rows)
            query = EncodedQuery.from_regions(
                batch, self.data.columns, {}, any_token=bool(self._event_vocabularies)
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
        return np.concatenate([i for i, _ in pairs]), np.concatenate([o for _, o in pairs])

    def _filter_meeting(
        self,
        query: EncodedQuery,
        rows: Ints,
        query_rows: NDArray[np.int32],
        ordinals: Ints,
        only_inside: bool,
    ) -> tuple[Ints, Ints]:
        """Return the pairs whose boxes of codes overlap.

        With `only_inside`, return the pairs whose stored box is inside the box of the query region.
        """
        lower, upper = np.split(self.data.boxes.codes[ordinals], 2, axis=1)
        low, high = query.low[query_rows], query.high[query_rows]
        is_meeting = (low <= upper) & (lower <= high)
        if only_inside:
            columns = len(self.data.columns)
            is_meeting[:, :columns] &= ((low <= lower) & (upper <= high))[:, :columns]
        meeting_rows = np.flatnonzero(is_meeting.all(axis=1))
        return rows[query_rows[meeting_rows]], ordinals[meeting_rows]


def _check_one_each(name: str, values: NDArray[Any], region_count: int) -> None:
    """Raise InvalidArgumentError unless argument `name` has one value for each region."""
    if values.shape != (region_count,):
        raise InvalidArgumentError(
            f"{name} must be an array with one value for each of {region_count} regions, "
            f"got shape {values.shape}"
        )
