"""Codebooks that segments share which are given the same queries, one after another.

To encode a query costs about as much as to search for it, and each set of boundaries takes room in
the processor's cache. Segments that share their columns encode a query once.
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
"""Regions of a query that is cached at most: larger ones are seldom given to many segments."""
_REDRAW_GROWTH = 8
_MIN_CROWDED_ENDS, _CROWDED_SHARE = 32, 1 / 256  # ends between two boundaries, and of all ends


@dataclass(slots=True)
class SharedCodebooks:
    """The columns of a segment that others take over, and the last query.

    Columns are drawn anew for a segment that is eight times as large, and where its ends are not
    spread over the boundaries that there are.
    """

    columns: tuple[EncodedColumn, ...] = ()
    _region_count: int = 0
    _last_query: tuple[Regions, tuple[EncodedColumn, ...], EncodedQuery] | None = None

    def columns_for(
        self, region_count: int, scalars: Mapping[str, Scalars]
    ) -> tuple[EncodedColumn, ...]:
        """Columns for so many regions with these constraints: those that are there, or new ones."""
        known = {column.name: column for column in self.columns}
        if (
            region_count < _REDRAW_GROWTH * self._region_count
            and list(known) == list(scalars)
            and all(_suits_constraints(known[name], batch) for name, batch in scalars.items())
        ):
            return self.columns
        self.columns = tuple(
            EncodedColumn.from_scalars(name, batch) for name, batch in scalars.items()
        )
        self._region_count = region_count
        return self.columns

    def encode(self, regions: Regions, columns: tuple[EncodedColumn, ...]) -> EncodedQuery:
        """Regions as a query to a segment of these columns, which has no vocabularies."""
        last = self._last_query
        if last is not None and last[0] is regions and last[1] is columns:
            return last[2]
        query = EncodedQuery.from_regions(regions, columns, {})
        self._last_query = (regions, columns, query) if len(regions) <= MAX_CACHED_REGIONS else None
        return query


def _suits_constraints(column: EncodedColumn, batch: Scalars) -> bool:
    """Whether the ends of some constraints are spread over the boundaries of a column."""
    if column.ranks is not None or column.domain != batch.domain:
        return False
    low, high, _ = column.codebook.encode_intervals(batch)
    codes = np.concatenate([low, high])
    between = codes[codes & 1 == 1]
    return int(np.bincount(between).max(initial=0)) <= max(
        _MIN_CROWDED_ENDS, _CROWDED_SHARE * len(codes)
    )
