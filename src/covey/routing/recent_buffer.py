"""Buffer of the newest advertised regions, which are too few to be indexed.

Regions are represented by points. The point of a query region is compared with the point of each
region in the buffer.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from covey.covering.cover_pointers import find_chain_roots
from covey.geometry import Regions
from covey.geometry.relations import covers
from covey.routing.dominance import DominancePoints
from covey.routing.kernels.dominance import find_dominating
from covey.routing.region_log import RegionLog
from covey.space import Attribute

__all__ = ["RecentBuffer", "find_maximal_covers"]

Bools = NDArray[np.bool_]
Numbers = NDArray[np.int64]
_INITIAL_DOUBT_CAPACITY = 1 << 12  # undecided pairs for which memory is allocated at first


@dataclass(slots=True)
class RecentBuffer:
    """Buffer of the numbers and points of at most `capacity` regions.

    Args:
        region_log: all regions of the routing table.
        capacity: the largest number of regions.
        attributes: the attributes of the points; when regions constrain other scalar attributes,
            these are added.
    """

    region_log: RegionLog
    capacity: int
    attributes: tuple[Attribute, ...] = ()
    _count: int = 0
    _numbers: Numbers = field(init=False)
    _points: DominancePoints = field(init=False)

    def __post_init__(self) -> None:
        self._numbers, self._points = np.empty(self.capacity, np.int64), self._allocate_points()

    @property
    def numbers(self) -> Numbers:
        """Numbers that were added since the buffer was cleared."""
        return self._numbers[: self._count]

    def encode_points(self, regions: Regions) -> DominancePoints:
        """Return the points of regions, with the attributes of the points in the buffer.

        If the regions constrain other scalar attributes, these are first added to all points in the
        buffer.
        """
        names = {attribute.name for attribute in self.attributes}
        new_attributes = [
            a
            for n in regions.constraints
            if n not in names and not (a := regions.space[n]).type.is_tags and not a.type.is_vector
        ]
        if new_attributes:
            self.attributes += tuple(new_attributes)
            self._points = self._allocate_points()
            self._write_points(
                DominancePoints.from_regions(self.region_log.take(self.numbers), self.attributes), 0
            )
        return DominancePoints.from_regions(regions, self.attributes)

    def has_room(self, count: int) -> bool:
        """Return whether this number of regions can be added."""
        return self._count + count <= self.capacity

    def add(self, numbers: Numbers, points: DominancePoints) -> None:
        """Add regions; `has_room` must be True for their number."""
        stop = self._count + len(numbers)
        self._numbers[self._count : stop] = numbers
        self._write_points(points, self._count)
        self._count = stop

    def clear(self) -> Numbers:
        """Remove all regions; return their numbers."""
        numbers, self._count = self.numbers.copy(), 0
        return numbers

    def find_covering(
        self, regions: Regions, points: DominancePoints, advertised_flags: Bools
    ) -> Numbers:
        """Return for each region the number of an advertised region that covers it, or -1.

        Only regions in the buffer are searched.

        Args:
            regions: the regions to cover.
            points: their points.
            advertised_flags: for each region number whether the region is advertised.
        """
        if not self._count:
            return np.full(len(points), -1, np.int64)
        is_advertised = advertised_flags[self.numbers]
        covering, query_rows, stored_rows = _find_dominating(
            self._points, self._count, is_advertised, points, exclude_self=False
        )
        if len(query_rows):
            stored_regions = self.region_log.take(self.numbers[stored_rows])
            is_cover = covers(stored_regions, np.arange(len(stored_rows)), regions, query_rows)
            covering[query_rows[is_cover]] = stored_rows[is_cover]
        covering[covering >= 0] = self.numbers[covering[covering >= 0]]
        return covering

    def _allocate_points(self) -> DominancePoints:
        """Return uninitialised points for `capacity` regions."""
        rows = 3 * len(self.attributes)
        return DominancePoints(
            np.empty((rows, self.capacity), np.int64), np.empty(self.capacity, np.bool_)
        )

    def _write_points(self, points: DominancePoints, start: int) -> None:
        """Write points into the buffer, from position `start` on."""
        stop = start + len(points)
        self._points.coordinates[:, start:stop] = points.coordinates
        self._points.is_exact[start:stop] = points.is_exact


def find_maximal_covers(regions: Regions, points: DominancePoints) -> Numbers:
    """Return for each region the row of a maximal region that covers it.

    A region is maximal if no other region covers it; for a maximal region the result is its own
    row. Of equal regions, which cover each other, only the first can be maximal. `points` are the
    points of the regions.

    Cost: one or two nanoseconds per pair of regions, so batches should be small.
    """
    count = len(points)
    all_flags = np.ones(count, np.bool_)
    covering_rows, inner, outer = _find_dominating(
        points, count, all_flags, points, exclude_self=True
    )
    if len(inner):
        is_cover = covers(regions, outer, regions, inner)
        inner, outer = inner[is_cover], outer[is_cover]
        is_equal_to_later = outer > inner
        is_equal_to_later[is_equal_to_later] = covers(
            regions, inner[is_equal_to_later], regions, outer[is_equal_to_later]
        )
        covering_rows[inner[~is_equal_to_later]] = outer[~is_equal_to_later]
    return find_chain_roots(covering_rows)


def _find_dominating(
    stored_points: DominancePoints,
    stored_count: int,
    alive: Bools,
    query_points: DominancePoints,
    *,
    exclude_self: bool,
) -> tuple[Numbers, Numbers, Numbers]:
    """Return for each query region the row of a stored region that covers it, and undecided pairs.

    The row is -1 if the points show no cover. Then there is an undecided pair, of the query row and
    a stored row, for each stored region that may cover the query region although their points do
    not prove it. Stored rows for which `alive` is False are ignored.
    """
    covering_rows, size = np.empty(len(query_points), np.int64), _INITIAL_DOUBT_CAPACITY
    while True:
        undecided_pairs = np.empty((2, size), np.int64)
        size = find_dominating(
            stored_points.coordinates,
            stored_count,
            stored_points.is_exact,
            alive,
            query_points.coordinates,
            query_points.is_exact,
            exclude_self,
            covering_rows,
            undecided_pairs,
        )
        if size <= undecided_pairs.shape[1]:
            return covering_rows, undecided_pairs[0, :size], undecided_pairs[1, :size]
