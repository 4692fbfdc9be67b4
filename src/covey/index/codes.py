"""Keys as small codes, per set of stored regions: codes propose, original keys decide.

Each attribute has a bounded table of boundaries, taken from the ends of the stored intervals. The
code of a key tells "equal to boundary i" (even) from "between two boundaries" (odd), so most
comparisons are settled on 16 bits; only a key and an end in one gap must look at the originals.

Cost: a binary search per key; text is searched once per distinct value of a batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from covey.geometry import Regions
from covey.geometry.scalars import ALL, Scalars
from covey.space import Events
from covey.space.events import ScalarColumn
from covey.space.keys import Domain, Keys
from covey.space.text import Below

__all__ = ["LAST", "NULL", "Coded", "Table", "coded_events", "coded_regions", "tables"]

Codes = NDArray[np.uint16]

NULL = 0
"""The code of null."""
_UNBOUNDED = 1
_FIRST = 3
LAST = 65535
"""An upper end that every code is below."""
MAX_BOUNDARIES = 8192


@dataclass(frozen=True, slots=True)
class Table:
    """The boundaries of one attribute, ascending."""

    name: str
    domain: Domain
    boundaries: Keys

    def codes(self, keys: Keys) -> Codes:
        """The code of each key; `Below` and other ends of text are between boundaries."""
        if keys.dtype == object:
            distinct, of = _distinct(keys)
            codes: Codes = self._codes(distinct)[of]
            return codes
        return self._codes(keys)

    def _codes(self, keys: Keys) -> Codes:
        places = np.searchsorted(self.boundaries, keys)
        inside = np.minimum(places, len(self.boundaries) - 1)
        equal = np.asarray(self.boundaries[inside] == keys, np.bool_) & (places == inside)
        return np.asarray(2 * places + _FIRST + equal, np.uint16)


@dataclass(frozen=True, slots=True)
class Coded:
    """Boxes of codes, a row each and a column an attribute, and which rows need their originals.

    A row's box contains the codes of all that the region admits. Where `exact`, being strictly
    inside, or at an end with an even code, is proof.
    """

    lower: Codes
    upper: Codes
    exact: NDArray[np.bool_]


def tables(regions: Regions) -> list[Table]:
    """A table for every scalar attribute that some region constrains."""
    found = []
    for name, given in regions.constraints.items():
        if isinstance(given.batch, Scalars):
            found.append(Table(name, given.batch.domain, _boundaries(given.batch)))
    return found


def coded_regions(regions: Regions, by: Sequence[Table]) -> Coded:
    """Regions as boxes of codes; what codes cannot say makes a row inexact."""
    shape = (len(regions), len(by))
    lower, upper = np.full(shape, NULL, np.uint16), np.full(shape, LAST, np.uint16)
    exact = np.ones(len(regions), np.bool_)
    known = {table.name for table in by}
    for name, given in regions.constraints.items():
        if name not in known:
            exact[given.rows] = False
    for k, table in enumerate(by):
        if table.name not in regions.constraints:
            continue
        given = regions.constraints[table.name]
        assert isinstance(given.batch, Scalars)
        lower[given.rows, k], upper[given.rows, k], sure = _coded(given.batch, table)
        exact[given.rows] &= sure
    return Coded(lower, upper, exact)


def coded_events(events: Events, by: Sequence[Table]) -> Codes:
    """The codes of events, a row each and a column a table."""
    codes = np.full((len(events), len(by)), NULL, np.uint16)
    for k, table in enumerate(by):
        column = events[table.name]
        assert isinstance(column, ScalarColumn)
        codes[column.valid, k] = table.codes(column.keys[column.valid])
    return codes


def _coded(batch: Scalars, table: Table) -> tuple[Codes, Codes, NDArray[np.bool_]]:
    whole = table.domain
    lower, upper = table.codes(batch.lower), table.codes(batch.upper)
    lower[np.asarray(batch.lower == whole.low, np.bool_)] = _UNBOUNDED
    upper[np.asarray(batch.upper == whole.high, np.bool_)] = LAST
    no_value = np.asarray(batch.lower > batch.upper, np.bool_)
    lower[no_value | batch.nulls] = NULL
    upper[no_value] = NULL
    bounded = np.asarray(batch.lower != whole.low, np.bool_) & ~no_value
    return lower, upper, (batch.listed == ALL) & ~(batch.nulls & bounded)


def _boundaries(batch: Scalars) -> Keys:
    """Ends of intervals, all of them or equally many of each part of their order."""
    ends = np.concatenate([batch.lower, batch.upper])
    if ends.dtype == object:
        texts = sorted({end for end in ends.tolist() if not isinstance(end, Below)})
        unique = np.empty(len(texts), object)
        unique[:] = texts
    else:
        ends.sort()  # np.unique hashes first, which is many times slower on millions of ends
        unique = ends[np.r_[True, ends[1:] != ends[:-1]][: len(ends)]]
    if len(unique) > MAX_BOUNDARIES:
        chosen = np.linspace(0, len(unique) - 1, MAX_BOUNDARIES).astype(np.int64)
        unique = unique[chosen]
    return unique if len(unique) else np.zeros(1, batch.domain.dtype)


def _distinct(keys: Keys) -> tuple[Keys, NDArray[np.int64]]:
    numbers: dict[object, int] = {}
    of = np.fromiter(
        (numbers.setdefault(key, len(numbers)) for key in keys.tolist()), np.int64, len(keys)
    )
    distinct = np.empty(len(numbers), object)
    distinct[:] = list(numbers)
    return distinct, of
