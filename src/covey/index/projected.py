"""The index of random projections: each region becomes a small box, and boxes propose.

Numbers (dates and times too) are one box of all of them, in units of their usual widths, and each
vector attribute is a ball; either is projected on k random directions of its own. The intervals are
the attributes of a `Segment`, which finds what the paper looks up in a layered range tree; the
exact relation decides. Texts and long decimals are attributes of it too; what else has no
projection (tags, cosines, null, several balls at once) is unbounded, and left to the relation.
(papers: projection)

Cost: k × d products per region, and a segment of k attributes beside the regions. Wrong choice
where regions leave numbers free, or have few attributes: `Segment` itself is exact, and faster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from covey.geometry import Regions
from covey.geometry.projections import expected_false
from covey.geometry.relations import check_same_types, contains, covers, overlaps
from covey.index.contract import Pairs
from covey.index.segment import Segment
from covey.index.shadows import Shadows
from covey.space import Events

__all__ = ["FalseCovers", "Projected"]

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
Holds = Callable[[Ints, Ints], Bools]

_FEW = 32  # candidates for each cover that is asked for, at first
_FIRST, _AT_ONCE = 256, 1 << 15  # regions that are asked about together
_PAIRS_AT_ONCE = 1 << 20


@dataclass(frozen=True, slots=True)
class FalseCovers:
    """How much was proposed in vain when `asked` regions looked for covers among `stored` ones.

    `redundant` of the asked have a cover, but the first candidate is none: whoever verifies only
    that one, as the paper does, forwards them needlessly.
    """

    asked: int
    stored: int
    directions: int
    candidates: int
    covers: int
    redundant: int

    @property
    def among_found(self) -> float:
        """The share of candidates that are no covers."""
        return (self.candidates - self.covers) / max(1, self.candidates)

    @property
    def among_non_covers(self) -> float:
        """The share of pairs without covering that were candidates."""
        return (self.candidates - self.covers) / max(1, self.asked * self.stored - self.covers)

    @property
    def expected(self) -> float:
        """What theory says of `among_non_covers`: see `expected_false`."""
        return expected_false(self.directions)


@dataclass(frozen=True, slots=True)
class Projected:
    """An index of n regions by their projections.

    Guarantee: every answer is that of `Scan`.

    >>> import pyarrow as pa
    >>> from covey import Space, parse
    >>> space = Space.of({"x": pa.float64(), "y": pa.float64()})
    >>> texts = ["x BETWEEN 0 AND 9 AND y BETWEEN 0 AND 9", "x BETWEEN 3 AND 4 AND y = 5"]
    >>> regions = parse(space, texts).regions
    >>> list(Projected.build(regions).covering(regions))
    [(0, 0), (1, 0), (1, 1)]
    """

    regions: Regions
    boxes: Segment
    shadows: Shadows
    _crossed: Ints  # rows of several balls, any one of which may be covered
    _crossed_boxes: Segment

    @classmethod
    def build(
        cls,
        regions: Regions,
        k: int | None = None,
        kind: Literal["orthonormal", "signs", "sparse"] = "orthonormal",
        seed: int = 0,
        shadows: Shadows | None = None,
    ) -> Projected:
        """An index of these regions on k directions, four or as many as there are dimensions.

        Or as `shadows` of other regions say: indexes that share them project a question once.
        """
        shadows = Shadows.draw(regions, k, kind, seed) if shadows is None else shadows
        boxes = shadows.outer(regions, 1)
        crossed = shadows.crossed(regions)
        crossed_boxes = Segment.build(boxes.take(crossed))
        indexed = Segment.build(boxes, alike=shadows.alike)
        return cls(regions, indexed, shadows, crossed, crossed_boxes)

    def __len__(self) -> int:
        return len(self.regions)

    @property
    def directions(self) -> int:
        """On how many directions numbers, or the vectors of an attribute, are projected."""
        return self.shadows.directions

    def matching(self, events: Events) -> Pairs:
        """Stored regions that contain each event."""
        check_same_types(self.regions, events.space, self.regions.constraints)
        asked, owner = self.shadows.of_events(events), np.arange(len(events))

        def holds(e: Ints, r: Ints) -> Bools:
            return contains(self.regions, r, events, e)

        return self._verified(asked, owner, self.boxes.covering, holds)

    def covering(self, regions: Regions, limit: int | None = None) -> Pairs:
        """Stored regions that cover each given one; with a limit, some of them.

        With a limit few candidates are verified first, and all only where those were not enough.
        """
        self._check(regions)
        asked, owner = self.shadows.inner(regions)

        def holds(i: Ints, r: Ints) -> Bools:
            return covers(self.regions, r, regions, i)

        if limit is None:
            return self._verified(asked, owner, self.boxes.covering, holds)
        if len(owner) > len(regions):
            return self._verified(asked, owner, self.boxes.covering, holds).first(limit)
        some = self.boxes.covering(asked, _FEW * limit)
        true = holds(some.asked.astype(np.int64), some.stored.astype(np.int64))
        found = Pairs(some.asked[true], some.stored[true])
        short = np.flatnonzero(np.bincount(some.asked) >= _FEW * limit)  # and so has more
        short = short[np.bincount(found.asked, minlength=len(regions))[short] < limit]
        if not limit or not len(short):
            return found.first(limit)
        again = self._verified(asked.take(short), short, self.boxes.covering, holds)
        kept = ~np.isin(found.asked, short)
        both = [(found.asked[kept], again.asked), (found.stored[kept], again.stored)]
        return Pairs.of(*map(np.concatenate, both)).first(limit)

    def covered_by(self, regions: Regions) -> Pairs:
        """Stored regions that each given one covers."""
        self._check(regions)

        def propose(asked: Regions) -> Pairs:
            inside, crossed = self.boxes.covered_by(asked), self._crossed_boxes.overlapping(asked)
            if not len(crossed):
                return inside
            rows = np.concatenate([inside.asked, crossed.asked])
            places = np.concatenate([inside.stored, self._crossed[crossed.stored]])
            return Pairs.of(rows, places).once()

        def holds(i: Ints, r: Ints) -> Bools:
            return covers(regions, i, self.regions.take(r), np.arange(len(r)))

        outer = self.shadows.outer(regions, 2)
        return self._verified(outer, np.arange(len(regions)), propose, holds)

    def overlapping(self, regions: Regions) -> Pairs:
        """Stored regions that have an event in common with each given one."""
        self._check(regions)
        outer = self.shadows.outer(regions, 1)

        def holds(i: Ints, r: Ints) -> Bools:
            return overlaps(regions, i, self.regions, r)

        return self._verified(outer, np.arange(len(regions)), self.boxes.overlapping, holds)

    def proposed(self, regions: Regions) -> Pairs:
        """Stored regions whose projections cover those of each given one: not verified."""
        found = list(self._candidates(*self.shadows.inner(regions), self.boxes.covering))
        return _joined(found)

    def false_covers(self, regions: Regions) -> FalseCovers:
        """How much `covering` of these regions proposes in vain.

        Ask about others than the stored ones: a region covers itself.
        """
        candidates = true = 0
        is_covered, is_found = np.zeros((2, len(regions)), np.bool_)
        for i, r in self._candidates(*self.shadows.inner(regions), self.boxes.covering):
            holds = covers(self.regions, r, regions, i)
            is_first = np.r_[True, np.diff(i) > 0][: len(i)]
            is_covered[i[holds]], is_found[i[holds & is_first]] = True, True
            candidates, true = candidates + len(i), true + int(holds.sum())
        redundant = int((is_covered & ~is_found).sum())
        return FalseCovers(len(regions), len(self), self.directions, candidates, true, redundant)

    def _check(self, regions: Regions) -> None:
        check_same_types(self.regions, regions.space, self.regions.constraints)

    def _verified(
        self, asked: Regions, owner: Ints, propose: Callable[[Regions], Pairs], holds: Holds
    ) -> Pairs:
        """The candidates for which `holds`."""
        found = []
        for i, r in self._candidates(asked, owner, propose):
            true = holds(i, r)
            found.append((i[true], r[true]))
        return _joined(found)

    def _candidates(
        self, asked: Regions, owner: Ints, propose: Callable[[Regions], Pairs]
    ) -> Iterator[tuple[Ints, Ints]]:
        """Owners and stored rows, in portions of which the next is the smaller the more they are.

        All of an owner are in one portion, each once.
        """
        start, step = 0, _FIRST
        while start < len(owner):
            last = owner[min(start + step, len(owner)) - 1]
            stop = int(np.searchsorted(owner, last, "right"))
            pairs = propose(asked.take(np.arange(start, stop)))
            i, r = owner[start + pairs.asked], pairs.stored.astype(np.int64)
            if last - owner[start] < stop - 1 - start:
                once = Pairs.of(i, r).once()
                i, r = once.asked.astype(np.int64), once.stored.astype(np.int64)
            yield i, r
            fitting = (stop - start) * _PAIRS_AT_ONCE // max(1, len(i))
            start, step = stop, max(1, min(8 * step, fitting, _AT_ONCE))


def _joined(portions: Sequence[tuple[Ints, Ints]]) -> Pairs:
    none = np.empty(0, np.int64)
    return Pairs(
        np.concatenate([none, *(i for i, _ in portions)]),
        np.concatenate([none, *(r for _, r in portions)]),
    )
