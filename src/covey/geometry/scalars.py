"""Constraints on one scalar attribute: closed intervals of keys, with null or without, and lists.

Row i admits null if `nulls[i]`, and the keys from `lower[i]` to `upper[i]` that its list lets pass:
all of them, only those listed (`IN`), or all except those listed (`NOT IN`). One spelling each: an
interval without a key has `lower > upper`; a list of one key is an interval; what a list names lies
within the interval, and the ends of an interval are admitted. So equal sets are equal rows.

Cost: relations between aligned batches are a few NumPy operations; pairs with lists, which are
few, are decided one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey.space.keys import Domain, Keys
from covey.space.ragged_array import RaggedArray
from covey.space.text_bounds import next_text, upper_bound_before

__all__ = ["ALL", "EXCEPT", "ONLY", "Scalars"]

ALL, ONLY, EXCEPT = 0, 1, -1

Bools = NDArray[np.bool_]
Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Scalars:
    """A batch of constraints on one attribute, one a row."""

    domain: Domain
    lower: Keys
    upper: Keys
    nulls: Bools
    listed: NDArray[np.int8]
    lists: RaggedArray

    @classmethod
    def from_intervals(
        cls,
        domain: Domain,
        lower: Keys,
        upper: Keys,
        *,
        nulls: Bools | bool = False,
        list_modes: NDArray[np.int8] | None = None,
        lists: RaggedArray | None = None,
    ) -> Scalars:
        """Constraints in their one spelling, from intervals and lists in any order."""
        count = len(lower)
        nulls = np.full(count, nulls) if isinstance(nulls, bool) else nulls
        if list_modes is None or lists is None or not list_modes.any():
            return cls(
                domain, *_normalize_empty(domain, lower, upper), nulls,
                np.zeros(count, np.int8), RaggedArray.empty(count, domain.dtype),
            )  # fmt: skip
        rows = [
            _normalize_row(
                domain, lower[i], upper[i], int(list_modes[i]), set(lists.row(i).tolist())
            )
            for i in range(count)
        ]
        return cls._from_rows(domain, rows, nulls)

    @classmethod
    def build_unconstrained(cls, domain: Domain, count: int) -> Scalars:
        """No constraint at all, `count` times."""
        low, high = np.empty(count, domain.dtype), np.empty(count, domain.dtype)
        low[:], high[:] = domain.low, domain.high
        return cls.from_intervals(domain, low, high, nulls=True)

    @classmethod
    def concat(cls, batches: Sequence[Scalars]) -> Scalars:
        """The rows of all parts, one after another."""
        lower, upper, nulls, listed = (
            np.concatenate([getattr(part, name) for part in batches])
            for name in ("lower", "upper", "nulls", "listed")
        )
        lists = RaggedArray.concat([part.lists for part in batches])
        return cls(batches[0].domain, lower, upper, nulls, listed, lists)

    @classmethod
    def _from_rows(cls, domain: Domain, rows: Sequence[_Row], nulls: Bools) -> Scalars:
        lower, upper = np.empty(len(rows), domain.dtype), np.empty(len(rows), domain.dtype)
        lower[:], upper[:] = [row[0] for row in rows], [row[1] for row in rows]
        listed = np.array([row[2] for row in rows], np.int8)
        return cls(
            domain,
            lower,
            upper,
            nulls,
            listed,
            RaggedArray.from_rows([row[3] for row in rows], domain.dtype),
        )

    def __len__(self) -> int:
        return len(self.lower)

    def take(self, rows: Rows) -> Scalars:
        """The given rows in the given order."""
        lists = (
            self.lists.take(rows)
            if len(self.lists.values)
            else RaggedArray.empty(len(rows), self.domain.dtype)
        )
        lower, upper = self.lower[rows], self.upper[rows]
        return Scalars(self.domain, lower, upper, self.nulls[rows], self.listed[rows], lists)

    @property
    def is_empty(self) -> Bools:
        """Rows that admit nothing, not even null."""
        return _as_bools(self.lower > self.upper) & ~self.nulls

    @property
    def is_unconstrained(self) -> Bools:
        """Rows that admit every key and null."""
        everything: Bools = self.nulls & (self.listed == ALL)
        asked = np.flatnonzero(everything)
        whole = _as_bools(self.lower[asked] <= self.domain.low) & _as_bools(
            self.upper[asked] >= self.domain.high
        )
        everything[asked] = whole
        return everything

    def contains(self, keys: Keys, valid: Bools) -> Bools:
        """Whether row i admits key i, or null where `valid` is false."""
        inside = _as_bools(self.lower <= keys) & _as_bools(keys <= self.upper)
        if len(self.lists.values):
            owner = np.repeat(np.arange(len(self)), self.lists.lengths)
            hits = _as_bools(self.lists.values == keys[owner])
            member = np.bincount(owner[hits], minlength=len(self)) > 0
            inside &= np.where(self.listed == ONLY, member, ~member)
        return _as_bools(np.where(valid, inside, self.nulls))

    def covers(self, inner: Scalars) -> Bools:
        """Whether row i admits all that row i of `inner` admits; `inner` rows are not empty."""
        no_value = _as_bools(inner.lower > inner.upper)
        wide = _as_bools(self.lower <= inner.lower) & _as_bools(inner.upper <= self.upper)
        self._decide_lists(inner, wide & ~no_value, wide, _row_covers)
        return (wide | no_value) & (self.nulls | ~inner.nulls)

    def overlaps(self, other: Scalars) -> Bools:
        """Whether some key, or null, is admitted by row i of both."""
        meet = _as_bools(np.maximum(self.lower, other.lower) <= np.minimum(self.upper, other.upper))
        self._decide_lists(other, meet, meet, _rows_overlap)
        return meet | (self.nulls & other.nulls)

    def _decide_lists(
        self,
        other: Scalars,
        undecided: Bools,
        answer: Bools,
        decide: Callable[[Domain, _Row, _Row], bool],
    ) -> None:
        """Overwrites `answer` for the asked pairs in which either side has a list."""
        for i in np.flatnonzero(undecided & ((self.listed != ALL) | (other.listed != ALL))):
            answer[i] = decide(self.domain, self.row(int(i)), other.row(int(i)))

    def intersect(self, other: Scalars) -> Scalars:
        """What both row i's admit."""
        lower, upper = np.maximum(self.lower, other.lower), np.minimum(self.upper, other.upper)
        nulls = self.nulls & other.nulls
        if not (self.listed.any() or other.listed.any()):
            return Scalars.from_intervals(self.domain, lower, upper, nulls=nulls)
        rows = [
            _intersect_rows(self.domain, lower[i], upper[i], self.row(i), other.row(i))
            for i in range(len(self))
        ]
        return Scalars._from_rows(self.domain, rows, nulls)

    def hull(self, groups: Rows) -> Scalars:
        """One row a group that covers the group's rows: its interval, or a list if all are short.

        `groups` numbers the groups from 0, in ascending order.
        """
        starts = np.flatnonzero(np.r_[True, np.diff(groups) > 0])[: len(groups)]
        lower = np.minimum.reduceat(self.lower, starts) if len(starts) else self.lower
        upper = np.maximum.reduceat(self.upper, starts) if len(starts) else self.upper
        nulls = np.logical_or.reduceat(self.nulls, starts) if len(starts) else self.nulls
        listed = np.zeros(len(starts), np.int8)
        lists: list[set[Any]] = [set() for _ in starts]
        for g, (start, stop) in enumerate(zip(starts, [*starts[1:], len(groups)], strict=True)):
            short = [_list_short_keys(self.domain, self.row(i)) for i in range(start, stop)]
            known = [keys for keys in short if keys is not None]
            if len(known) == len(short):
                listed[g], lists[g] = ONLY, set().union(*known)
        ragged = RaggedArray.from_rows(lists, self.domain.dtype)
        return Scalars.from_intervals(
            self.domain, lower, upper, nulls=nulls, list_modes=listed, lists=ragged
        )

    def row(self, i: int) -> _Row:
        """Row i as (lower, upper, listed, list)."""
        return self.lower[i], self.upper[i], int(self.listed[i]), self.lists.row(i).tolist()


_Row = tuple[Any, Any, int, list[Any]]


def _as_bools(comparison: Any) -> Bools:
    """Comparisons of object arrays come as objects."""
    return np.asarray(comparison, np.bool_)


def _normalize_empty(domain: Domain, lower: Keys, upper: Keys) -> tuple[Keys, Keys]:
    """Intervals without a key in their one spelling."""
    empty = _as_bools(lower > upper)
    if not empty.any():
        return lower, upper
    lower, upper = lower.copy(), upper.copy()
    lower[empty], upper[empty] = domain.high, domain.low
    return lower, upper


def _normalize_row(domain: Domain, lower: Any, upper: Any, list_mode: int, keys: set[Any]) -> _Row:
    """One row in its one spelling: of a list and what it leaves out, the shorter one is listed."""
    nothing: _Row = (domain.high, domain.low, ALL, [])
    if lower > upper:
        return nothing
    if list_mode == ALL:
        return lower, upper, ALL, []
    inside = sorted(key for key in keys if lower <= key <= upper)
    if list_mode == EXCEPT:
        excluded = set(inside)
        while lower in excluded:
            excluded.discard(lower)
            lower = next_text(lower) if isinstance(lower, str) else int(lower) + 1
        while upper in excluded:
            excluded.discard(upper)
            upper = upper_bound_before(upper) if isinstance(upper, str) else int(upper) - 1
        if lower > upper:
            return nothing
        if not excluded:
            return lower, upper, ALL, []
        if domain.count_keys(lower, upper) > 2 * len(excluded):
            return lower, upper, EXCEPT, sorted(excluded)
        inside = [key for key in domain.list_keys(lower, upper) if key not in excluded]
    if not inside:
        return nothing
    lower, upper = inside[0], inside[-1]
    count = domain.count_keys(lower, upper)
    if count == len(inside):
        return lower, upper, ALL, []
    if count <= 2 * len(inside) - 1:
        rest = set(inside)
        return (
            lower,
            upper,
            EXCEPT,
            [key for key in domain.list_keys(lower, upper) if key not in rest],
        )
    return lower, upper, ONLY, inside


_MAX_SHORT_KEYS = 64


def _list_short_keys(domain: Domain, row: _Row) -> set[Any] | None:
    """The keys of a row that is a list of few, a single key, or none."""
    lower, upper, listed, keys = row
    if listed == ONLY:
        return set(keys)
    if lower > upper:
        return set()
    if listed == ALL:
        return {lower} if lower == upper else None
    few = domain.count_keys(lower, upper) <= _MAX_SHORT_KEYS
    return set(domain.list_keys(lower, upper)) - set(keys) if few else None


def _intersect_rows(domain: Domain, lower: Any, upper: Any, a: _Row, b: _Row) -> _Row:
    only = [set(row[3]) for row in (a, b) if row[2] == ONLY]
    excluded = {key for row in (a, b) if row[2] == EXCEPT for key in row[3]}
    if only:
        return _normalize_row(domain, lower, upper, ONLY, set.intersection(*only) - excluded)
    return _normalize_row(domain, lower, upper, EXCEPT if excluded else ALL, excluded)


def _row_covers(domain: Domain, outer: _Row, inner: _Row) -> bool:
    """Whether the keys of one row are among those of another whose interval is wider."""
    if inner[2] == ONLY:
        return all(_row_admits(outer, key) for key in inner[3])
    excluded = set(inner[3])
    within = [key for key in outer[3] if inner[0] <= key <= inner[1] and key not in excluded]
    if outer[2] == EXCEPT:
        return not within
    return outer[2] == ALL or len(within) == domain.count_keys(inner[0], inner[1]) - len(excluded)


def _rows_overlap(domain: Domain, a: _Row, b: _Row) -> bool:
    for one, other in ((a, b), (b, a)):
        if one[2] == ONLY:
            return any(_row_admits(other, key) for key in one[3])
    lower, upper = max(a[0], b[0]), min(a[1], b[1])
    first, last, *_ = _intersect_rows(domain, lower, upper, a, b)
    return bool(first <= last)


def _row_admits(row: _Row, key: Any) -> bool:
    return bool(row[0] <= key <= row[1]) and (
        row[2] == ALL or (key in set(row[3])) == (row[2] == ONLY)
    )
