"""The random projection index: each region is represented by a small box (papers: projection).

The intervals of a region on all numbers (also dates and times) form one box, in units of the median
widths. Its constraint on a vector attribute is a ball. The box and each ball are projected on k
random directions. Each direction is an attribute of a `SegmentIndex`, which replaces the layered
range tree of the paper. The candidates of the segment are verified with the original regions. Texts
and long decimals are attributes of the segment as well. A small box is unbounded where a constraint
cannot be projected: cosine balls, several balls, and numbers or vectors that may be null. It has no
attribute for tags.

Cost: k · d multiplications per region with d dimensions, and the memory of a segment with k
attributes in addition to that of the regions. Do not use this index if regions have few attributes
or do not constrain all numbers: then `SegmentIndex` is faster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from covey._argument_checks import check_arguments, check_range
from covey.geometry import Regions
from covey.geometry.projections import false_cover_probability
from covey.geometry.relations import check_same_types, contains, covers, overlaps
from covey.index.projection.projection_mapping import ProjectionMapping
from covey.index.protocol import MatchResult, Pairs
from covey.index.segment.index import SegmentIndex
from covey.space import Events

__all__ = ["FalseCovers", "RandomProjectionIndex"]

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
Holds = Callable[[Ints, Ints], Bools]

_CANDIDATES_PER_COVER = 32  # candidates that are verified first, for each requested cover
_INITIAL_BATCH, _MAX_BATCH = 256, 1 << 15  # regions per query to the segment
_MAX_PAIRS_PER_BATCH = 1 << 20
_MAX_DIRECTIONS = 10_000


@dataclass(frozen=True, slots=True)
class FalseCovers:
    """Counts of false covers among the candidates that were proposed for query regions.

    Args:
        query_count: number of query regions.
        stored_count: number of stored regions.
        direction_count: smallest number of directions of any projection of the index.
        candidates: number of pairs that were proposed.
        covers: number of proposed pairs that are covers.
        redundant: number of query regions that have a cover, but whose first candidate is a false
            cover. A method that verifies only the first candidate, as the paper does, forwards
            these regions unnecessarily.
    """

    query_count: int
    stored_count: int
    direction_count: int
    candidates: int
    covers: int
    redundant: int

    @property
    def false_share_of_candidates(self) -> float:
        """Share of false covers among the candidates."""
        return (self.candidates - self.covers) / max(1, self.candidates)

    @property
    def false_share_of_non_covers(self) -> float:
        """Share of candidates among the pairs that are not covers."""
        return (self.candidates - self.covers) / max(
            1, self.query_count * self.stored_count - self.covers
        )

    @property
    def expected_false_share(self) -> float:
        """Approximation of `false_share_of_non_covers`; see `false_cover_probability`."""
        return false_cover_probability(self.direction_count)


@dataclass(frozen=True, slots=True)
class RandomProjectionIndex:
    """Index that finds candidates by random projections, and verifies them.

    Guarantee: every query returns the same pairs as `BruteForceIndex`; with a limit, it may return
    other covers.

    >>> import pyarrow as pa
    >>> from covey import Space, parse
    >>> space = Space.from_types({"x": pa.float64(), "y": pa.float64()})
    >>> texts = ["x BETWEEN 0 AND 9 AND y BETWEEN 0 AND 9", "x BETWEEN 3 AND 4 AND y = 5"]
    >>> regions = parse(space, texts).regions
    >>> list(RandomProjectionIndex.build(regions).find_covering(regions))
    [(0, 0), (1, 0), (1, 1)]
    """

    regions: Regions
    boxes: SegmentIndex
    mapping: ProjectionMapping
    _multi_ball_rows: Ints  # see `ProjectionMapping.find_multi_ball_rows`
    _multi_ball_boxes: SegmentIndex

    @classmethod
    @check_arguments
    def build(
        cls,
        regions: Regions,
        direction_count: int | None = None,
        *,
        kind: Literal["orthonormal", "signs", "sparse"] = "orthonormal",
        seed: int = 0,
        mapping: ProjectionMapping | None = None,
    ) -> RandomProjectionIndex:
        """Build an index of regions.

        Args:
            regions: the regions to store.
            direction_count: number of directions of each projection, from 1 to 10,000. With None, a
                projection has as many directions as dimensions, but at most four.
            kind: distribution of the directions; see the methods of
                `covey.geometry.projections.Directions`.
            seed: seed of the random directions.
            mapping: the mapping of another index, to be used instead of a new one. It replaces
                `direction_count`, `kind` and `seed`. If several indexes share a mapping and are
                queried with the same regions, the regions are projected only once.

        Raises:
            InvalidArgumentError: if `direction_count` is out of range, or `seed` is negative.
        """
        check_range("seed", seed, 0)
        if direction_count is not None:
            check_range("direction_count", direction_count, 1, _MAX_DIRECTIONS)
        mapping = (
            ProjectionMapping.draw(regions, direction_count, kind, seed)
            if mapping is None
            else mapping
        )
        boxes = mapping.project_outer(regions, 1)
        multi_ball_rows = mapping.find_multi_ball_rows(regions)
        multi_ball_boxes = SegmentIndex.build(boxes.take(multi_ball_rows))
        box_index = SegmentIndex.build(boxes, shared_codebooks=mapping.shared_codebooks)
        return cls(regions, box_index, mapping, multi_ball_rows, multi_ball_boxes)

    def __len__(self) -> int:
        return len(self.regions)

    @property
    def direction_count(self) -> int:
        """Smallest number of directions of any projection; 0 if there are no projections."""
        return self.mapping.direction_count

    @check_arguments
    def match(self, events: Events) -> MatchResult:
        """Return for each event the stored regions that contain it."""
        check_same_types(self.regions, events.space, self.regions.constraints)
        query_boxes, query_rows = self.mapping.project_events(events), np.arange(len(events))

        def holds(e: Ints, r: Ints) -> Bools:
            return contains(self.regions, r, events, e)

        pairs = self._verify_candidates(query_boxes, query_rows, self.boxes.find_covering, holds)
        return MatchResult.from_pairs(pairs, self.regions)

    @check_arguments
    def find_covering(self, regions: Regions, *, limit: int | None = None) -> Pairs:
        """Return for each query region the stored regions that cover it, at most `limit`.

        With a limit, only a few candidates of each query region are verified at first. All its
        candidates are verified only if fewer than `limit` covers were found. If a query region has
        several balls, all candidates of all query regions are verified.
        """
        self._check_types(regions)
        query_boxes, query_rows = self.mapping.project_inner(regions)

        def holds(i: Ints, r: Ints) -> Bools:
            return covers(self.regions, r, regions, i)

        if limit is None:
            return self._verify_candidates(query_boxes, query_rows, self.boxes.find_covering, holds)
        if len(query_rows) > len(regions):
            return self._verify_candidates(
                query_boxes, query_rows, self.boxes.find_covering, holds
            ).limit_per_query(limit)
        candidates = self.boxes.find_covering(query_boxes, limit=_CANDIDATES_PER_COVER * limit)
        is_cover = holds(
            candidates.query_rows.astype(np.int64), candidates.stored_rows.astype(np.int64)
        )
        covers_found = Pairs(candidates.query_rows[is_cover], candidates.stored_rows[is_cover])
        # Query rows for which the number of candidates was limited may have more covers.
        incomplete_rows = np.flatnonzero(
            np.bincount(candidates.query_rows) >= _CANDIDATES_PER_COVER * limit
        )
        incomplete_rows = incomplete_rows[
            np.bincount(covers_found.query_rows, minlength=len(regions))[incomplete_rows] < limit
        ]
        if not limit or not len(incomplete_rows):
            return covers_found.limit_per_query(limit)
        complete_covers = self._verify_candidates(
            query_boxes.take(incomplete_rows), incomplete_rows, self.boxes.find_covering, holds
        )
        is_complete = ~np.isin(covers_found.query_rows, incomplete_rows)
        columns = [
            (covers_found.query_rows[is_complete], complete_covers.query_rows),
            (covers_found.stored_rows[is_complete], complete_covers.stored_rows),
        ]
        return Pairs.from_unsorted(*map(np.concatenate, columns)).limit_per_query(limit)

    @check_arguments
    def find_covered(self, regions: Regions) -> Pairs:
        """Return for each query region the stored regions that it covers."""
        self._check_types(regions)

        def propose(query_boxes: Regions) -> Pairs:
            inner_pairs, multi_ball_pairs = (
                self.boxes.find_covered(query_boxes),
                self._multi_ball_boxes.find_overlapping(query_boxes),
            )
            if not len(multi_ball_pairs):
                return inner_pairs
            query_rows = np.concatenate([inner_pairs.query_rows, multi_ball_pairs.query_rows])
            stored_rows = np.concatenate(
                [inner_pairs.stored_rows, self._multi_ball_rows[multi_ball_pairs.stored_rows]]
            )
            return Pairs.from_unsorted(query_rows, stored_rows).drop_duplicates()

        def holds(i: Ints, r: Ints) -> Bools:
            return covers(regions, i, self.regions.take(r), np.arange(len(r)))

        outer = self.mapping.project_outer(regions, 2)
        return self._verify_candidates(outer, np.arange(len(regions)), propose, holds)

    @check_arguments
    def find_overlapping(self, regions: Regions) -> Pairs:
        """Return for each query region the stored regions that overlap it."""
        self._check_types(regions)
        outer = self.mapping.project_outer(regions, 1)

        def holds(i: Ints, r: Ints) -> Bools:
            return overlaps(regions, i, self.regions, r)

        return self._verify_candidates(
            outer, np.arange(len(regions)), self.boxes.find_overlapping, holds
        )

    def propose_covering(self, regions: Regions) -> Pairs:
        """Return the candidates of `find_covering`, without verifying them."""
        portions = list(
            self._propose_batches(*self.mapping.project_inner(regions), self.boxes.find_covering)
        )
        return _concat_pairs(portions)

    def measure_false_covers(self, regions: Regions) -> FalseCovers:
        """Count the false covers that `find_covering` would propose for query regions.

        The query regions should not be among the stored ones, because a region covers itself.
        """
        candidates = cover_count = 0
        is_covered, is_first_cover = np.zeros((2, len(regions)), np.bool_)
        for i, r in self._propose_batches(
            *self.mapping.project_inner(regions), self.boxes.find_covering
        ):
            holds = covers(self.regions, r, regions, i)
            is_first = np.r_[True, np.diff(i) > 0][: len(i)]
            is_covered[i[holds]], is_first_cover[i[holds & is_first]] = True, True
            candidates, cover_count = candidates + len(i), cover_count + int(holds.sum())
        redundant = int((is_covered & ~is_first_cover).sum())
        return FalseCovers(
            len(regions), len(self), self.direction_count, candidates, cover_count, redundant
        )

    def _check_types(self, regions: Regions) -> None:
        """Raise SchemaError if an attribute of stored regions has another type in `regions`."""
        check_same_types(self.regions, regions.space, self.regions.constraints)

    def _verify_candidates(
        self,
        query_boxes: Regions,
        query_rows: Ints,
        propose: Callable[[Regions], Pairs],
        holds: Holds,
    ) -> Pairs:
        """Return those pairs proposed by `propose` for which `holds` is true."""
        portions = []
        for i, r in self._propose_batches(query_boxes, query_rows, propose):
            is_verified = holds(i, r)
            portions.append((i[is_verified], r[is_verified]))
        return _concat_pairs(portions)

    def _propose_batches(
        self, query_boxes: Regions, query_rows: Ints, propose: Callable[[Regions], Pairs]
    ) -> Iterator[tuple[Ints, Ints]]:
        """Yield the pairs that `propose` returns, in portions.

        A portion consists of an array of query rows and an array of stored rows. It contains all
        pairs of its query rows, each once. The number of query rows of a portion is chosen by the
        number of pairs in the previous portion. `query_rows` has the query row of each box.
        """
        start, step = 0, _INITIAL_BATCH
        while start < len(query_rows):
            last = query_rows[min(start + step, len(query_rows)) - 1]
            stop = int(np.searchsorted(query_rows, last, "right"))
            pairs = propose(query_boxes.take(np.arange(start, stop)))
            i, r = query_rows[start + pairs.query_rows], pairs.stored_rows.astype(np.int64)
            if last - query_rows[start] < stop - 1 - start:
                distinct = Pairs.from_unsorted(i, r).drop_duplicates()
                i, r = distinct.query_rows.astype(np.int64), distinct.stored_rows.astype(np.int64)
            yield i, r
            fitting = (stop - start) * _MAX_PAIRS_PER_BATCH // max(1, len(i))
            start, step = stop, max(1, min(8 * step, fitting, _MAX_BATCH))


def _concat_pairs(portions: Sequence[tuple[Ints, Ints]]) -> Pairs:
    """Return the pairs of all portions."""
    none = np.empty(0, np.int64)
    return Pairs(
        np.concatenate([none, *(i for i, _ in portions)]),
        np.concatenate([none, *(r for _, r in portions)]),
    )
