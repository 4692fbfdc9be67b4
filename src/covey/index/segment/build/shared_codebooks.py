"""Shared codebooks of several segments that are queried with the same regions.

Encoding a query costs about as much as the search for it, and the boundaries of each codebook
occupy memory in the processor's cache. If segments share their encoded columns, a query to several
of them is encoded only once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from covey.geometry import Regions
from covey.geometry.scalars import Scalars
from covey.index.segment.encoded_column import EncodedColumn
from covey.index.segment.query.encoded_query import EncodedQuery

__all__ = ["MAX_CACHED_REGIONS", "SharedCodebooks"]

MAX_CACHED_REGIONS = 1 << 14
"""Largest number of regions of a cached query; larger queries are seldom made to many segments."""
_REDRAW_GROWTH = 8  # growth of a segment at which columns are built again
_MIN_CROWDED_ENDS, _CROWDED_SHARE = (
    32,
    1 / 256,
)  # columns are built again if more ends than both limits (number, share) have the same odd code


@dataclass(slots=True)
class SharedCodebooks:
    """Encoded columns that several segments share, and the last query encoded with them.

    New columns are built for a segment if it has other scalar attributes, if it is at least eight
    times as large as the segment for which the present columns were built, if it has texts or long
    decimals, or if too many ends of its intervals lie between two neighbouring boundaries.
    """

    columns: tuple[EncodedColumn, ...] = ()
    _region_count: int = 0
    _last_query: tuple[Regions, tuple[EncodedColumn, ...], EncodedQuery] | None = None

    def columns_for(
        self, region_count: int, scalars: Mapping[str, Scalars]
    ) -> tuple[EncodedColumn, ...]:
        """Return columns for a segment: the present columns if they suit it, otherwise new columns.

        `region_count` is the number of regions of the segment, and `scalars` has their constraints
        by attribute.
        """
        columns_by_name = {column.name: column for column in self.columns}
        if (
            region_count < _REDRAW_GROWTH * self._region_count
            and list(columns_by_name) == list(scalars)
            and all(
                _suits_constraints(columns_by_name[name], batch) for name, batch in scalars.items()
            )
        ):
            return self.columns
        self.columns = tuple(
            EncodedColumn.from_scalars(name, batch) for name, batch in scalars.items()
        )
        self._region_count = region_count
        return self.columns

    def encode(self, regions: Regions, columns: tuple[EncodedColumn, ...]) -> EncodedQuery:
        """Return regions as a query to a segment with these columns and without vocabularies."""
        last = self._last_query
        if last is not None and last[0] is regions and last[1] is columns:
            return last[2]
        query = EncodedQuery.from_regions(regions, columns, {})
        self._last_query = (regions, columns, query) if len(regions) <= MAX_CACHED_REGIONS else None
        return query


def _suits_constraints(column: EncodedColumn, batch: Scalars) -> bool:
    """Return whether few ends of constraints lie between any two boundaries of a column.

    For texts and long decimals the result is False, because a column has only ranks of the values
    for which it was built.
    """
    if column.ranks is not None or column.domain != batch.domain:
        return False
    low, high, _ = column.codebook.encode_intervals(batch)
    codes = np.concatenate([low, high])
    between = codes[codes & 1 == 1]
    return int(np.bincount(between).max(initial=0)) <= max(
        _MIN_CROWDED_ENDS, _CROWDED_SHARE * len(codes)
    )
