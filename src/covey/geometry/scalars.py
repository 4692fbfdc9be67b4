"""Constraints on one scalar attribute: closed intervals of keys, with null or without, and lists.

Row i admits null if `nulls[i]` is true. Of the keys from `lower[i]` to `upper[i]` it admits all,
only the listed keys (`IN`), or all except the listed keys (`NOT IN`); `listed[i]` says which. Rows
are in normal form, so two rows admit the same keys if and only if they are equal. In the normal
form, a row that admits no key has `lower > upper`; a list of one key is replaced by an interval;
the keys of a list lie within the interval; and both ends of the interval are admitted.

Cost: relations between two batches are a few NumPy operations. Pairs of which one row has a list
are decided one by one in Python; few such pairs are expected.
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
"""Modes of a list: no list, the only admitted keys (`IN`), the excluded keys (`NOT IN`)."""

Bools = NDArray[np.bool_]
Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Scalars:
    """A batch of constraints on one attribute, one constraint per row.

    Row i has the closed interval of keys from `lower[i]` to `upper[i]`, and the list `lists.row(i)`
    of mode `listed[i]`: `ALL`, `ONLY` or `EXCEPT`. It admits null if `nulls[i]` is true.
    """

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
        """Return constraints in normal form.

        Args:
            domain: the keys that the attribute may have.
            lower: smallest key of each row, inclusive.
            upper: largest key of each row, inclusive; below `lower` if a row admits no key.
            nulls: whether each row admits null.
            list_modes: `ALL`, `ONLY` or `EXCEPT` for each row; None if no row has a list.
            lists: keys of the list of each row, in any order; None if no row has a list.
        """
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
        """Return `count` rows that admit every key and null."""
        low, high = np.empty(count, domain.dtype), np.empty(count, domain.dtype)
        low[:], high[:] = domain.low, domain.high
        return cls.from_intervals(domain, low, high, nulls=True)

    @classmethod
    def concat(cls, batches: Sequence[Scalars]) -> Scalars:
        """Return the rows of all batches, one batch after another."""
        lower, upper, nulls, listed = (
            np.concatenate([getattr(batch, name) for batch in batches])
            for name in ("lower", "upper", "nulls", "listed")
        )
        lists = RaggedArray.concat([batch.lists for batch in batches])
        return cls(batches[0].domain, lower, upper, nulls, listed, lists)

    @classmethod
    def _from_rows(cls, domain: Domain, rows: Sequence[_Row], nulls: Bools) -> Scalars:
        """Return a batch of rows. The rows must be in normal form."""
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
        """Return the number of rows."""
        return len(self.lower)

    def take(self, rows: Rows) -> Scalars:
        """Return the given rows in the given order; a row may occur several times."""
        lists = (
            self.lists.take(rows)
            if len(self.lists.values)
            else RaggedArray.empty(len(rows), self.domain.dtype)
        )
        lower, upper = self.lower[rows], self.upper[rows]
        return Scalars(self.domain, lower, upper, self.nulls[rows], self.listed[rows], lists)

    @property
    def is_empty(self) -> Bools:
        """For each row, whether it admits neither a key nor null."""
        return _as_bools(self.lower > self.upper) & ~self.nulls

    @property
    def is_unconstrained(self) -> Bools:
        """For each row, whether it admits every key and null."""
        admits_all: Bools = self.nulls & (self.listed == ALL)
        candidates = np.flatnonzero(admits_all)
        spans_domain = _as_bools(self.lower[candidates] <= self.domain.low) & _as_bools(
            self.upper[candidates] >= self.domain.high
        )
        admits_all[candidates] = spans_domain
        return admits_all

    def contains(self, keys: Keys, valid: Bools) -> Bools:
        """Return for each i whether row i admits key i.

        Where `valid[i]` is false, return whether row i admits null.
        """
        inside = _as_bools(self.lower <= keys) & _as_bools(keys <= self.upper)
        if len(self.lists.values):
            key_rows = np.repeat(np.arange(len(self)), self.lists.lengths)
            is_equal = _as_bools(self.lists.values == keys[key_rows])
            is_listed = np.bincount(key_rows[is_equal], minlength=len(self)) > 0
            inside &= np.where(self.listed == ONLY, is_listed, ~is_listed)
        return _as_bools(np.where(valid, inside, self.nulls))

    def covers(self, inner: Scalars) -> Bools:
        """Return for each i whether row i admits everything that row i of `inner` admits."""
        no_value = _as_bools(inner.lower > inner.upper)
        contains_interval = _as_bools(self.lower <= inner.lower) & _as_bools(
            inner.upper <= self.upper
        )
        self._decide_lists(inner, contains_interval & ~no_value, contains_interval, _row_covers)
        return (contains_interval | no_value) & (self.nulls | ~inner.nulls)

    def overlaps(self, other: Scalars) -> Bools:
        """Return for each i whether row i and row i of `other` admit a common key, or both null."""
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
        """Write the result of `decide` to `answer[i]` for each undecided pair i that has a list.

        Pair i is row i of this batch and row i of `other`; it has a list if one of the rows has.
        """
        for i in np.flatnonzero(undecided & ((self.listed != ALL) | (other.listed != ALL))):
            answer[i] = decide(self.domain, self.row(int(i)), other.row(int(i)))

    def intersect(self, other: Scalars) -> Scalars:
        """Return for each i the constraint that admits what row i and row i of `other` admit."""
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
        """Return for each group of rows one row: the smallest interval that covers the group.

        If each row of the group admits at most one key, has an `ONLY` list, or has an `EXCEPT` list
        and an interval of at most `_MAX_SHORT_KEYS` keys, the result is instead a list of exactly
        the keys that these rows admit.

        Args:
            groups: the group number of each row, ascending, from 0 without gaps.
        """
        starts = np.flatnonzero(np.r_[True, np.diff(groups) > 0])[: len(groups)]
        lower = np.minimum.reduceat(self.lower, starts) if len(starts) else self.lower
        upper = np.maximum.reduceat(self.upper, starts) if len(starts) else self.upper
        nulls = np.logical_or.reduceat(self.nulls, starts) if len(starts) else self.nulls
        listed = np.zeros(len(starts), np.int8)
        lists: list[set[Any]] = [set() for _ in starts]
        for g, (start, stop) in enumerate(zip(starts, [*starts[1:], len(groups)], strict=True)):
            short_lists = [_list_short_keys(self.domain, self.row(i)) for i in range(start, stop)]
            key_sets = [keys for keys in short_lists if keys is not None]
            if len(key_sets) == len(short_lists):
                listed[g], lists[g] = ONLY, set().union(*key_sets)
        ragged = RaggedArray.from_rows(lists, self.domain.dtype)
        return Scalars.from_intervals(
            self.domain, lower, upper, nulls=nulls, list_modes=listed, lists=ragged
        )

    def row(self, i: int) -> _Row:
        """Return row i as its smallest key, its largest key, the mode of its list, and its list."""
        return self.lower[i], self.upper[i], int(self.listed[i]), self.lists.row(i).tolist()


_Row = tuple[Any, Any, int, list[Any]]


def _as_bools(comparison: Any) -> Bools:
    """Return the result of a comparison as an array of booleans, also if scalars were compared."""
    return np.asarray(comparison, np.bool_)


def _normalize_empty(domain: Domain, lower: Keys, upper: Keys) -> tuple[Keys, Keys]:
    """Return the ends of intervals in normal form.

    If an interval contains no key, its lower end becomes the highest key of the domain, and its
    upper end the lowest key.
    """
    empty = _as_bools(lower > upper)
    if not empty.any():
        return lower, upper
    lower, upper = lower.copy(), upper.copy()
    lower[empty], upper[empty] = domain.high, domain.low
    return lower, upper


def _normalize_row(domain: Domain, lower: Any, upper: Any, list_mode: int, keys: set[Any]) -> _Row:
    """Return a row in normal form.

    A set of keys can be stored as a list of its keys, or as a list of the other keys of its
    interval. The shorter list is used.
    """
    empty_row: _Row = (domain.high, domain.low, ALL, [])
    if lower > upper:
        return empty_row
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
            return empty_row
        if not excluded:
            return lower, upper, ALL, []
        if domain.count_keys(lower, upper) > 2 * len(excluded):
            return lower, upper, EXCEPT, sorted(excluded)
        inside = [key for key in domain.list_keys(lower, upper) if key not in excluded]
    if not inside:
        return empty_row
    lower, upper = inside[0], inside[-1]
    count = domain.count_keys(lower, upper)
    if count == len(inside):
        return lower, upper, ALL, []
    if count <= 2 * len(inside) - 1:
        listed_keys = set(inside)
        return (
            lower,
            upper,
            EXCEPT,
            [key for key in domain.list_keys(lower, upper) if key not in listed_keys],
        )
    return lower, upper, ONLY, inside


_MAX_SHORT_KEYS = 64


def _list_short_keys(domain: Domain, row: _Row) -> set[Any] | None:
    """Return the keys that a row admits, or None if it is an interval of several keys.

    For a row of mode `EXCEPT`, return None if its interval has more than `_MAX_SHORT_KEYS` keys.
    """
    lower, upper, listed, keys = row
    if listed == ONLY:
        return set(keys)
    if lower > upper:
        return set()
    if listed == ALL:
        return {lower} if lower == upper else None
    is_short = domain.count_keys(lower, upper) <= _MAX_SHORT_KEYS
    return set(domain.list_keys(lower, upper)) - set(keys) if is_short else None


def _intersect_rows(domain: Domain, lower: Any, upper: Any, a: _Row, b: _Row) -> _Row:
    """Return the row of the keys that two rows have in common, in normal form.

    The intersection of their intervals runs from `lower` to `upper`.
    """
    key_sets = [set(row[3]) for row in (a, b) if row[2] == ONLY]
    excluded = {key for row in (a, b) if row[2] == EXCEPT for key in row[3]}
    if key_sets:
        return _normalize_row(domain, lower, upper, ONLY, set.intersection(*key_sets) - excluded)
    return _normalize_row(domain, lower, upper, EXCEPT if excluded else ALL, excluded)


def _row_covers(domain: Domain, outer: _Row, inner: _Row) -> bool:
    """Return whether `outer` admits all keys of `inner`.

    The interval of `outer` must contain the interval of `inner`.
    """
    if inner[2] == ONLY:
        return all(_row_admits(outer, key) for key in inner[3])
    excluded = set(inner[3])
    within = [key for key in outer[3] if inner[0] <= key <= inner[1] and key not in excluded]
    if outer[2] == EXCEPT:
        return not within
    return outer[2] == ALL or len(within) == domain.count_keys(inner[0], inner[1]) - len(excluded)


def _rows_overlap(domain: Domain, a: _Row, b: _Row) -> bool:
    """Return whether two rows have a common key."""
    for row, other in ((a, b), (b, a)):
        if row[2] == ONLY:
            return any(_row_admits(other, key) for key in row[3])
    lower, upper = max(a[0], b[0]), min(a[1], b[1])
    first, last, *_ = _intersect_rows(domain, lower, upper, a, b)
    return bool(first <= last)


def _row_admits(row: _Row, key: Any) -> bool:
    """Return whether a row admits a key."""
    return bool(row[0] <= key <= row[1]) and (
        row[2] == ALL or (key in set(row[3])) == (row[2] == ONLY)
    )
