"""Segments that are asked the same questions, one after another, and so share their codes.

To encode a question costs about as much as to search for it, and each set of boundaries takes a
place in the processor's cache. Segments that share their columns encode a question once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from covey.geometry import Regions
from covey.geometry.scalars import Scalars
from covey.index.asked import Asked
from covey.index.columns import Column

__all__ = ["KEPT", "Alike"]

KEPT = 1 << 14
"""Regions of a question that is kept at most: larger ones are seldom put to many segments."""
_MUCH_LARGER = 8
_FEW, _CROWDED = 32, 1 / 256  # ends between two boundaries, of all: these are for other ends


@dataclass(slots=True)
class Alike:
    """The columns of a segment that others take over, and the last question.

    Columns are drawn anew for a segment that is eight times as large, and where its ends are not
    spread over the boundaries that there are.
    """

    columns: tuple[Column, ...] = ()
    _size: int = 0
    _last: tuple[Regions, tuple[Column, ...], Asked] | None = None

    def drawn(self, count: int, scalars: Mapping[str, Scalars]) -> tuple[Column, ...]:
        """Columns for so many regions with these constraints: those that are there, or new ones."""
        known = {column.name: column for column in self.columns}
        if (
            count < _MUCH_LARGER * self._size
            and list(known) == list(scalars)
            and all(_suits(known[name], batch) for name, batch in scalars.items())
        ):
            return self.columns
        self.columns = tuple(Column.of(name, batch) for name, batch in scalars.items())
        self._size = count
        return self.columns

    def asked(self, regions: Regions, columns: tuple[Column, ...]) -> Asked:
        """The question of regions to a segment of these columns, which has no vocabularies."""
        last = self._last
        if last is not None and last[0] is regions and last[1] is columns:
            return last[2]
        asked = Asked.regions(regions, columns, {})
        self._last = (regions, columns, asked) if len(regions) <= KEPT else None
        return asked


def _suits(column: Column, batch: Scalars) -> bool:
    """Whether the ends of some constraints are spread over the boundaries of a column."""
    if column.ranks is not None or column.domain != batch.domain:
        return False
    low, high, _ = column.codebook.intervals(batch)
    codes = np.concatenate([low, high])
    between = codes[codes & 1 == 1]
    return int(np.bincount(between).max(initial=0)) <= max(_FEW, _CROWDED * len(codes))
