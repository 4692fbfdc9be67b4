"""The index of random projections: each region becomes a small box, and boxes propose.

Numbers (dates and times too) are one box of all of them, in units of their usual widths, and each
vector attribute is a ball; either is projected on k random directions of its own. The intervals are
the attributes of a `SegmentIndex`, which finds what the paper looks up in a layered range tree; the
exact relation decides. Texts and long decimals are attributes of it too; what else has no
projection (tags, cosines, null, several balls at once) is unbounded, and left to the relation.
(papers: projection)

Cost: k × d products per region, and a segment of k attributes beside the regions. Wrong choice
where regions leave numbers free, or have few attributes: `SegmentIndex` itself is exact, and
faster.
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
from covey.index.protocol import Pairs
from covey.index.segment.index import SegmentIndex
from covey.space import Events

__all__ = ["FalseCovers", "RandomProjectionIndex"]

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
Holds = Callable[[Ints, Ints], Bools]

_CANDIDATES_PER_COVER = 32  # for each cover that is wanted, at first
_INITIAL_BATCH, _MAX_BATCH = 256, 1 << 15  # regions of one query
_MAX_PAIRS_PER_BATCH = 1 << 20
_MAX_DIRECTIONS = 10_000


@dataclass(frozen=True, slots=True)
class FalseCovers:
    """How much was proposed in vain when regions looked for covers among the stored ones.

    `redundant` of these regions have a cover, but their first candidate is none: whoever verifies
    only that one, as the paper does, forwards them needlessly.
    """

    query_count: int
    stored_count: int
    direction_count: int
    candidates: int
    covers: int
    redundant: int

    @property
    def false_share_of_candidates(self) -> float:
        """The share of candidates that are no covers."""
        return (self.candidates - self.covers) / max(1, self.candidates)

    @property
    def false_share_of_non_covers(self) -> float:
        """The share of pairs without covering that were candidates."""
        return (self.candidates - self.covers) / max(
            1, self.query_count * self.stored_count - self.covers
        )

    @property
    def expected_false_share(self) -> float:
        """What theory says of `false_share_of_non_covers`: see `false_cover_probability`."""
        return false_cover_probability(self.direction_count)


@dataclass(frozen=True, slots=True)
class RandomProjectionIndex:
    """An index of n regions by their projections.

    Guarantee: every answer is that of `BruteForceIndex`.

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
    _multi_ball_rows: Ints  # rows of several balls, any one of which may be covered
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
        """An index of these regions on k directions, four or as many as there are dimensions.

        Or by the `mapping` of another index: indexes that share one project a question once.
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
        crossed = mapping.find_multi_ball_rows(regions)
        crossed_boxes = SegmentIndex.build(boxes.take(crossed))
        indexed = SegmentIndex.build(boxes, shared_codebooks=mapping.shared_codebooks)
        return cls(regions, indexed, mapping, crossed, crossed_boxes)

    def __len__(self) -> int:
        return len(self.regions)

    @property
    def direction_count(self) -> int:
        """On how many directions numbers, or the vectors of an attribute, are projected."""
        return self.mapping.direction_count

    @check_arguments
    def match(self, events: Events) -> Pairs:
        """Stored regions that contain each event."""
        check_same_types(self.regions, events.space, self.regions.constraints)
        query_boxes, query_rows = self.mapping.project_events(events), np.arange(len(events))

        def holds(e: Ints, r: Ints) -> Bools:
            return contains(self.regions, r, events, e)

        return self._verify_candidates(query_boxes, query_rows, self.boxes.find_covering, holds)

    @check_arguments
    def find_covering(self, regions: Regions, *, limit: int | None = None) -> Pairs:
        """Stored regions that cover each given one; with a limit, some of them.

        With a limit few candidates are verified first, and all only where those were not enough.
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
        some = self.boxes.find_covering(query_boxes, limit=_CANDIDATES_PER_COVER * limit)
        true = holds(some.query_rows.astype(np.int64), some.stored_rows.astype(np.int64))
        found = Pairs(some.query_rows[true], some.stored_rows[true])
        # Those with as many candidates as were asked for may have more.
        short = np.flatnonzero(np.bincount(some.query_rows) >= _CANDIDATES_PER_COVER * limit)
        short = short[np.bincount(found.query_rows, minlength=len(regions))[short] < limit]
        if not limit or not len(short):
            return found.limit_per_query(limit)
        again = self._verify_candidates(
            query_boxes.take(short), short, self.boxes.find_covering, holds
        )
        kept = ~np.isin(found.query_rows, short)
        both = [
            (found.query_rows[kept], again.query_rows),
            (found.stored_rows[kept], again.stored_rows),
        ]
        return Pairs.from_unsorted(*map(np.concatenate, both)).limit_per_query(limit)

    @check_arguments
    def find_covered(self, regions: Regions) -> Pairs:
        """Stored regions that each given one covers."""
        self._check_types(regions)

        def propose(asked: Regions) -> Pairs:
            inside, crossed = (
                self.boxes.find_covered(asked),
                self._multi_ball_boxes.find_overlapping(asked),
            )
            if not len(crossed):
                return inside
            rows = np.concatenate([inside.query_rows, crossed.query_rows])
            places = np.concatenate(
                [inside.stored_rows, self._multi_ball_rows[crossed.stored_rows]]
            )
            return Pairs.from_unsorted(rows, places).drop_duplicates()

        def holds(i: Ints, r: Ints) -> Bools:
            return covers(regions, i, self.regions.take(r), np.arange(len(r)))

        outer = self.mapping.project_outer(regions, 2)
        return self._verify_candidates(outer, np.arange(len(regions)), propose, holds)

    @check_arguments
    def find_overlapping(self, regions: Regions) -> Pairs:
        """Stored regions that have an event in common with each given one."""
        self._check_types(regions)
        outer = self.mapping.project_outer(regions, 1)

        def holds(i: Ints, r: Ints) -> Bools:
            return overlaps(regions, i, self.regions, r)

        return self._verify_candidates(
            outer, np.arange(len(regions)), self.boxes.find_overlapping, holds
        )

    def propose_covering(self, regions: Regions) -> Pairs:
        """Stored regions whose projections cover those of each given one: not verified."""
        found = list(
            self._propose_batches(*self.mapping.project_inner(regions), self.boxes.find_covering)
        )
        return _concat_pairs(found)

    def measure_false_covers(self, regions: Regions) -> FalseCovers:
        """How much `find_covering` of these regions proposes in vain.

        Give other regions than the stored ones: a region covers itself.
        """
        candidates = true = 0
        is_covered, is_found = np.zeros((2, len(regions)), np.bool_)
        for i, r in self._propose_batches(
            *self.mapping.project_inner(regions), self.boxes.find_covering
        ):
            holds = covers(self.regions, r, regions, i)
            is_first = np.r_[True, np.diff(i) > 0][: len(i)]
            is_covered[i[holds]], is_found[i[holds & is_first]] = True, True
            candidates, true = candidates + len(i), true + int(holds.sum())
        redundant = int((is_covered & ~is_found).sum())
        return FalseCovers(
            len(regions), len(self), self.direction_count, candidates, true, redundant
        )

    def _check_types(self, regions: Regions) -> None:
        check_same_types(self.regions, regions.space, self.regions.constraints)

    def _verify_candidates(
        self,
        query_boxes: Regions,
        query_rows: Ints,
        propose: Callable[[Regions], Pairs],
        holds: Holds,
    ) -> Pairs:
        """The candidates for which `holds` is true."""
        found = []
        for i, r in self._propose_batches(query_boxes, query_rows, propose):
            true = holds(i, r)
            found.append((i[true], r[true]))
        return _concat_pairs(found)

    def _propose_batches(
        self, query_boxes: Regions, query_rows: Ints, propose: Callable[[Regions], Pairs]
    ) -> Iterator[tuple[Ints, Ints]]:
        """Query rows and stored rows, in portions: the more pairs, the smaller the next portion.

        All pairs of a query row are in one portion, each once.
        """
        start, step = 0, _INITIAL_BATCH
        while start < len(query_rows):
            last = query_rows[min(start + step, len(query_rows)) - 1]
            stop = int(np.searchsorted(query_rows, last, "right"))
            pairs = propose(query_boxes.take(np.arange(start, stop)))
            i, r = query_rows[start + pairs.query_rows], pairs.stored_rows.astype(np.int64)
            if last - query_rows[start] < stop - 1 - start:
                once = Pairs.from_unsorted(i, r).drop_duplicates()
                i, r = once.query_rows.astype(np.int64), once.stored_rows.astype(np.int64)
            yield i, r
            fitting = (stop - start) * _MAX_PAIRS_PER_BATCH // max(1, len(i))
            start, step = stop, max(1, min(8 * step, fitting, _MAX_BATCH))


def _concat_pairs(portions: Sequence[tuple[Ints, Ints]]) -> Pairs:
    none = np.empty(0, np.int64)
    return Pairs(
        np.concatenate([none, *(i for i, _ in portions)]),
        np.concatenate([none, *(r for _, r in portions)]),
    )
